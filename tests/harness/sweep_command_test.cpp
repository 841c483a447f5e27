// `occbench sweep` with the program of this build, for a GPU that is not here.

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "files/output.hpp"
#include "gpu/no_runtime_compiler.hpp"
#include "gpu/nvrtc.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class SweepListed : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc::loaded();
    } catch (const NoRuntimeCompiler& missing) {
      GTEST_SKIP() << missing.what();
    }
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  }

  Outcome list(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "sweep");
    for (const char* more : {"--benches", OCC_BENCHES, "--list", "--cc", "9.0", "--sm-count", "132"})
      arguments.emplace_back(more);
    return run_command(arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(SweepListed, HasTheoryAndPredictionOfEachConfiguration) {
  const Outcome outcome = list({"spin", "--block-size", "32,256,768"});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(ContainsRegex("spin/plain/block_size=32 .* 50 % +49\\.[0-9]+ % .*  blocks"),
                                 ContainsRegex("spin/plain/block_size=768 .* 75 % +74\\.[0-9]+ % .*  warps"),
                                 HasSubstr("3 cases, about 1 s")));
}

TEST_F(SweepListed, OfAGpuThatNobodyCalibratedHasTheRangeOfEachPrediction) {
  const Outcome generic = list({"spin", "--block-size", "256"});
  EXPECT_THAT(generic.err, HasSubstr("unverified"));
  std::smatch numbers;
  ASSERT_TRUE(std::regex_search(generic.out, numbers, std::regex(R"(100 % +(\S+) % \((\S+) to (\S+)\)  )")))
      << generic.out;
  const double predicted = std::stod(numbers[1]);
  const double low = std::stod(numbers[2]);
  const double high = std::stod(numbers[3]);
  EXPECT_LT(low, predicted);
  EXPECT_GT(high, predicted);
  EXPECT_LE(high, 100) << "even warps never read more than theory";
  const Outcome calibrated = run_command(
      {"sweep", "spin", "--block-size", "256", "--benches", OCC_BENCHES, "--list", "--gpu", "h200"});
  EXPECT_THAT(calibrated.out, ContainsRegex("100 % +99\\.[0-9]+ %  warps")) << calibrated.err;
}

/// The cliffs of blocks of 256 threads, by the calculator: 32 and 40 registers are the last of their steps.
TEST_F(SweepListed, GivesLiveRegistersExactlyAsManyAsAreAskedFor) {
  const Outcome outcome = list({"live_registers", "--registers", "=24,31,32,33,40,41,97,128"});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  for (const auto& [registers, theory] : {std::pair{24, "100 %"},
                                          {31, "100 %"},
                                          {32, "100 %"},
                                          {33, "75 %"},
                                          {40, "75 %"},
                                          {41, "62.5 %"},
                                          {97, "25 %"},
                                          {128, "25 %"}})
    EXPECT_THAT(outcome.out, ContainsRegex("registers=" + std::to_string(registers) + " +" +
                                           std::to_string(registers) + " +0 +[0-9]+ +" + theory));
}

TEST_F(SweepListed, SaysWhatACapOnRegistersCostsAndThatFewerThan24AreRaised) {
  const Outcome outcome = list({"register_pressure", "--registers", "16,64,168"});
  EXPECT_THAT(outcome.out,
              ContainsRegex("register_cap=16 +24 +[1-9][0-9]+ .*the assembler raised the cap of 16"));
  EXPECT_THAT(outcome.out, ContainsRegex("register_cap=64 +64 +[1-9][0-9]+ "));
  EXPECT_THAT(outcome.out, ContainsRegex("register_cap=168 +1[0-9][0-9] +0 "));
}

/// 65,536 registers of an SM: 8 blocks of 256 threads leave 32 for each, 5 leave 51.2, of which whole units
/// are 48.
TEST_F(SweepListed, CapsRegistersAsBlocksThatMustFitLeaveThem) {
  const Outcome outcome = list({"register_pressure", "--min-blocks", "2,5,8"});
  EXPECT_THAT(outcome.out, ContainsRegex("min_blocks=2 +128 "));
  EXPECT_THAT(outcome.out, ContainsRegex("min_blocks=5 +48 +[0-9]+ +5 +62.5 %"));
  EXPECT_THAT(outcome.out, ContainsRegex("min_blocks=8 +32 +[0-9]+ +8 +100 %"));
  EXPECT_THAT(list({"register_pressure", "--min-blocks", "2", "--registers", "32"}).err,
              HasSubstr("leave one out"));
}

TEST_F(SweepListed, SkipsAnExactCountThatTheCompilerDoesNotGive) {
  const Outcome outcome = list({"spin", "--registers", "=20,99"});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.out,
              ContainsRegex("registers=99 .*--registers =99: the compiler gives [0-9]+ registers"));
}

TEST_F(SweepListed, OfStaticSharedMemoryHasAsMuchAsIsAskedFor) {
  // 227 KB of shared memory on an SM, of which each block takes 1 KB more than it asks for.
  const Outcome outcome = list({"spin", "--static-smem", "0,28K,48K,50K"});
  EXPECT_THAT(outcome.out, ContainsRegex("static_smem=28672 +[0-9]+ +0 +7 +87.5 %"));
  EXPECT_THAT(outcome.out, ContainsRegex("static_smem=49152 +[0-9]+ +0 +4 +50 %"));
  EXPECT_THAT(outcome.out, HasSubstr("a kernel declares at most 49152 bytes"));
}

TEST_F(SweepListed, OfEveryFamilyCompiles) {
  for (const char* kernel :
       {"spin", "live_registers", "register_pressure", "fma_chains", "reads", "shared_staging"}) {
    const Outcome outcome = list({kernel, "--waves", "1,2"});
    EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("2 cases, about")) << kernel;
    EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("cannot be launched"))) << kernel << outcome.out;
  }
}

TEST_F(SweepListed, OfAKernelInAFileNeedsNoGpu) {
  const std::string file = (folder_.path() / "add.cu").string();
  std::ofstream(file) << "__global__ void add(const float* from, float* to, int n) {\n"
                         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  if (i < n) to[i] += from[i];\n}\n";
  const std::vector<std::string> words = {"--source",     file,       "--kernel",     "add",   "--arg",
                                          "float[1<<20]", "--arg",    "float[1<<20]", "--arg", "int=1048576",
                                          "--block-size", "128,1024", "--grid",       "1024"};
  const Outcome outcome = list(words);
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("add/source/block_size=1024/grid=1024"));
  std::vector<std::string> wrong = words;
  wrong[11] = "--block-sise";
  wrong[10] = "0.5";
  EXPECT_EQ(list(wrong).status, ExitStatus::usage);
}

TEST_F(SweepListed, OfATemplateNamesTheInstanceWhoseParametersTheArgumentsDoNotFit) {
  const std::string file = (folder_.path() / "copy.cu").string();
  std::ofstream(file)
      << "template <int N> __global__ void copy(const float* from, float* to) { to[N] = from[N]; }\n";
  const Outcome outcome = list({"--source", file, "--kernel", "copy<32>", "--arg", "float[64]"});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("copy<32>(float const*, float*): "));
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("void copy")));
}

TEST_F(SweepListed, OfASourceThatDoesNotCompileEndsWithTheCompilersMessage) {
  const std::string file = (folder_.path() / "broken.cu").string();
  std::ofstream(file) << "__global__ void broken(float* x) { x[0] = missing; }\n";
  const Outcome outcome = list({"--source", file, "--kernel", "broken", "--arg", "float[16]"});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("identifier \"missing\" is undefined"));
}

TEST_F(SweepListed, OfAKernelThatTheSourceLacksSaysThatAndNothingBefore) {
  const std::string file = (folder_.path() / "copy.cu").string();
  std::ofstream(file) << "__global__ void copy(float* x) { x[0] = 1; }\n";
  const Outcome outcome = list({"--source", file, "--kernel", "copies", "--arg", "float[16]"});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, ::testing::StartsWith("occbench: copy.cu has no kernel copies; "));
  EXPECT_THAT(outcome.err, ::testing::Not(::testing::EndsWith("\n\n")));
}

TEST_F(SweepListed, RefusesAnUnknownAxisAndAnEmptyRange) {
  const Outcome unknown = list({"spin", "--blocksize", "64"});
  EXPECT_EQ(unknown.status, ExitStatus::usage);
  EXPECT_THAT(unknown.err, HasSubstr("the nearest are --block-size"));
  EXPECT_THAT(list({"spin", "--block-size", "64:32:8"}).err,
              HasSubstr("the range is empty: 64 is more than 32"));
}

}  // namespace
}  // namespace occbench
