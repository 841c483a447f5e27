// A sweep as the harness plans and measures it, on a device that is none.
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <re2/re2.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "fake_gpu.hpp"
#include "files/output.hpp"
#include "gpu/no_runtime_compiler.hpp"
#include "gpu/nvrtc.hpp"
#include "harness/plan.hpp"
#include "harness/source_family.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Sweeps : public RunCases {
 protected:
  ExitStatus sweep(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--occ_sweep=fake");
    return run(fake_families(), std::move(arguments));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Row& row : read_rows(csv())) all.push_back(row.case_);
    return all;
  }
  std::map<std::string, Row> rows_by_parameters() const {
    std::map<std::string, Row> rows;
    for (const Row& row : read_rows(csv())) rows[row.parameters] = row;
    return rows;
  }
  std::string refusal(std::vector<std::string> arguments) {
    return message_of([&] { sweep(std::move(arguments)); });
  }
};

TEST_F(Sweeps, MeasureEachConfigurationUnderItsAxes) {
  EXPECT_EQ(sweep({"--occ_axis=block-size=64,256", "--occ_axis=colour=red,green"}), ExitStatus::done);
  EXPECT_THAT(names(),
              ElementsAre("fake/made/block_size=64/colour=red", "fake/made/block_size=64/colour=green",
                          "fake/made/block_size=256/colour=red", "fake/made/block_size=256/colour=green"));
  const Row row = read_rows(csv())[2];
  EXPECT_EQ(row.parameters, "block_size=256;colour=red");
  EXPECT_EQ(row.time_status, "ok");
  EXPECT_EQ(row.grid_blocks, 2 * 8 * 132);  // two waves of 8 blocks on each of 132 SMs
  EXPECT_EQ(row.waves, 2.0);
}

TEST_F(Sweeps, LaunchAsManyThreadsAtEachBlockSizeInWholeBlocksAndClusters) {
  EXPECT_EQ(sweep({"--occ_axis=threads=1M,1000", "--occ_axis=block-size=64,1024", "--occ_axis=cluster=1,2"}),
            ExitStatus::done);
  std::vector<std::int64_t> grids;
  for (const Row& row : read_rows(csv())) grids.push_back(row.grid_blocks.value());
  EXPECT_THAT(grids, ElementsAre(16384, 16384, 1024, 1024, 16, 16, 1, 2));
}

TEST_F(Sweeps, SkipWhatTheDeviceCannotLaunchAndMeasureTheRest) {
  EXPECT_EQ(sweep({"--occ_axis=block-size=2048,256", "--occ_axis=dynamic-smem=0,400K"}), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].time_status, "skipped");
  EXPECT_THAT(rows[0].note, HasSubstr("2048 is out of range: compute capability 9.0 allows 1 to 1024"));
  EXPECT_EQ(rows[2].time_status, "ok");
  EXPECT_EQ(rows[3].time_status, "skipped");
  EXPECT_THAT(rows[3].note, HasSubstr("409600 bytes of shared memory"));
}

TEST_F(Sweeps, SkipWhatTheKernelCannotBeAndSayWhy) {
  EXPECT_EQ(sweep({"--occ_axis=colour=blue,red"}), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].note, "--colour blue: it is red or green");
  EXPECT_EQ(rows[0].time_status, "skipped");
  EXPECT_EQ(rows[0].parameters, "colour=blue");
  EXPECT_EQ(rows[1].time_status, "ok");
}

TEST(SweepAxes, AreRefusedWithoutADevice) {
  const Experiment experiment = fake_families();
  const Experiment* const experiments[] = {&experiment};
  const auto refusal = [&](const char* name, const char* values) {
    SweepOptions sweep;
    sweep.family = "fake";
    sweep.axes = {{name, values}};
    return message_of([&] { require_axes(experiments, sweep); });
  };
  EXPECT_THAT(refusal("block", "64"), HasSubstr("no axis --block; the nearest are --block-size"));
  EXPECT_THAT(refusal("block-size", "128:64:64"), HasSubstr("the range is empty"));
  EXPECT_EQ(refusal("block-size", "64"), "nothing was thrown");
}

TEST_F(Sweeps, ThatCannotMeasureAnythingAreRefusedWithTheReason) {
  EXPECT_THAT(refusal({"--occ_axis=colour=blue"}), HasSubstr("it is red or green"));
  EXPECT_THAT(refusal({"--occ_axis=block=64"}),
              AllOf(HasSubstr("no axis --block"), HasSubstr("--block-size")));
  EXPECT_THAT(refusal({"--occ_axis=block-size=128:64:64"}), HasSubstr("the range is empty"));
  EXPECT_THAT(refusal({"--occ_axis=grid=10", "--occ_axis=waves=2"}), HasSubstr("leave one out"));
  EXPECT_THAT(refusal({"--occ_axis=threads=10", "--occ_axis=grid=10"}),
              HasSubstr("--grid and --threads both give the grid: leave one out"));
  EXPECT_THAT(refusal({"--occ_axis=threads=0"}), HasSubstr("--threads 0: a dimension is at least 1"));
  EXPECT_THAT(refusal({"--occ_axis=block-size"}), HasSubstr("NAME=VALUES"));
  EXPECT_THAT(message_of([&] { run(fake_families(), {"--occ_sweep=fakes"}); }),
              HasSubstr("there is no kernel fakes to sweep; the nearest are fake"));
}

TEST_F(Sweeps, ResumedMeasureWhatIsMissingAlone) {
  sweep({"--occ_axis=block-size=64,256"});
  const int timed = instruments_.timed;
  EXPECT_EQ(sweep({"--occ_axis=block-size=64,256", "--occ_resume"}), ExitStatus::done);
  EXPECT_EQ(instruments_.timed, timed);
  sweep({"--occ_axis=block-size=64,128,256", "--occ_resume"});
  EXPECT_THAT(names(),
              ElementsAre("fake/made/block_size=64", "fake/made/block_size=256", "fake/made/block_size=128"));
}

TEST_F(Sweeps, TellACapOnRegistersFromACount) {
  sweep({"--occ_axis=registers=32,40"});
  EXPECT_THAT(names(), ElementsAre("fake/made/register_cap=32", "fake/made/register_cap=40"));
}

TEST_F(Sweeps, OfShapesKeepTotalsAndShapesOnTheirRows) {
  EXPECT_EQ(sweep({"--occ_axis=block-size=16x16,8x8x4,64", "--occ_axis=threads=1000x100"}), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].case_, "fake/made/block_size=16x16/threads=1000x100");
  EXPECT_EQ(rows[0].block_threads, 256);
  EXPECT_EQ(rows[0].grid_blocks, 63 * 7);  // 1000 / 16 and 100 / 16, rounded up
  EXPECT_EQ(rows[1].grid_blocks, 125 * 13);
  EXPECT_EQ(rows[2].grid_blocks, 16 * 100);
}

TEST_F(Sweeps, SkipShapesBeyondALimitAndNameItWithTheRemedy) {
  EXPECT_EQ(sweep({"--occ_axis=block-size=8x1x128,2048x1,2x1024,32x32,32", "--occ_axis=grid=1x65536,64"}),
            ExitStatus::done);
  std::map<std::string, Row> rows = rows_by_parameters();
  EXPECT_EQ(rows.size(), 10U);
  EXPECT_EQ(rows["block_size=32;grid=64"].time_status, "ok");
  EXPECT_EQ(rows["block_size=32x32;grid=64"].time_status, "ok");
  EXPECT_THAT(
      rows["block_size=8x1x128;grid=64"].note,
      HasSubstr("--block-size 8x1x128: z = 128, and CUDA allows 1 to 64; make it smaller or use another"));
  EXPECT_THAT(rows["block_size=2048;grid=64"].note, HasSubstr("2048 is out of range"));
  EXPECT_THAT(
      rows["block_size=2x1024;grid=64"].note,
      HasSubstr(
          "--block-size 2x1024: 2048 threads, and compute capability 9.0 allows 1024; make it smaller"));
  EXPECT_THAT(rows["block_size=32;grid=1x65536"].note, HasSubstr("y = 65536, and CUDA allows 1 to 65535"));
}

TEST_F(Sweeps, LeaveOutWhatDoesNotMeetAConstraint) {
  EXPECT_EQ(sweep({"--occ_axis=block-size=8x8,16x16,32x32", "--occ_axis=colour=red,green",
                   "--occ_where=block_size.x * block_size.y <= 256",
                   "--occ_where=colour == 'red' || block_size.x > 8"}),
            ExitStatus::done);
  EXPECT_THAT(names(),
              ElementsAre("fake/made/block_size=8x8/colour=red", "fake/made/block_size=16x16/colour=red",
                          "fake/made/block_size=16x16/colour=green"));
  EXPECT_THAT(refusal({"--occ_axis=block-size=8x8", "--occ_where=block_size.x > 8"}),
              HasSubstr("--where block_size.x > 8: none of 1 configurations meets it"));
  EXPECT_THAT(refusal({"--occ_where=block_sise > 8"}), HasSubstr("the nearest are block_size"));
  EXPECT_THAT(refusal({"--occ_where=1 % 0"}), HasSubstr("write VALUE != 0 && in front of it"));
}

TEST_F(Sweeps, OfAxesMadeOfOthersHaveARowWhereAValueCannotBe) {
  EXPECT_EQ(
      sweep({"--occ_axis=block-size=16x16,32x8", "--occ_axis=grid={512 / block_size.x}x{block_size.y / 16}"}),
      ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].case_, "fake/made/block_size=16x16");
  EXPECT_EQ(rows[0].grid_blocks, 32);
  EXPECT_THAT(rows[1].note, HasSubstr("--grid 16x0: a dimension is at least 1"));
}

TEST_F(Sweeps, FindTheFastestAndSayOfAllOthersWhyTheyAreNot) {
  for (int threads = 64; threads <= 1024; threads += 32) instruments_.time_of[threads] = 100 + threads;
  instruments_.time_of[512] = 50;
  instruments_.time_of[kWrong] = 10;
  EXPECT_EQ(sweep({"--occ_fastest", "--occ_axis=block-size=32:1056:32", "--occ_axis=waves=1"}),
            ExitStatus::no_verdict);
  instruments_.lost = false;  // kFatal has ended the context: another process races on
  EXPECT_EQ(
      sweep({"--occ_fastest", "--occ_axis=block-size=32:1056:32", "--occ_axis=waves=1", "--occ_resume"}),
      ExitStatus::done);
  std::map<std::string, Row> rows = rows_by_parameters();
  ASSERT_EQ(rows.size(), 33U);
  const Row& fastest = rows["block_size=512;waves=1"];
  EXPECT_EQ(fastest.time_us, 50);
  EXPECT_EQ(fastest.counters_status, "ok");
  EXPECT_EQ(fastest.note, "");
  EXPECT_THAT(rows["block_size=544;waves=1"].note, HasSubstr("ruled out: a launch took 644 us"));
  EXPECT_EQ(rows["block_size=544;waves=1"].counters_status, "off");
  EXPECT_EQ(rows["block_size=224;waves=1"].check, "wrong");
  EXPECT_EQ(rows["block_size=224;waves=1"].note, "its result differs from another");
  EXPECT_THAT(rows["block_size=96;waves=1"].note, HasSubstr("launch"));
  EXPECT_EQ(rows["block_size=96;waves=1"].time_status, "failed");
  EXPECT_EQ(rows["block_size=128;waves=1"].time_status, "failed");
  EXPECT_EQ(rows["block_size=1056;waves=1"].time_status, "skipped");
}

TEST_F(Sweeps, TheFastestBeganWithTheGpcOfItsRace) {
  instruments_.time_of[512] = 50;
  instruments_.first_gpc = 0;
  instruments_.missed = true;  // before the race
  const auto fastest_gpc = [&] {
    EXPECT_EQ(sweep({"--occ_fastest", "--occ_axis=block-size=256,512"}), ExitStatus::done);
    for (const Row& row : read_rows(csv())) {
      if (row.time_us == 50) return row.first_gpc;
    }
    ADD_FAILURE() << "no row of the fastest";
    return std::optional<std::int64_t>();
  };
  EXPECT_EQ(fastest_gpc(), 0);
  instruments_.misses_timed = true;
  EXPECT_EQ(fastest_gpc(), std::nullopt);
}

TEST_F(Sweeps, AreListedWithTheoryWithoutADevice) {
  ::testing::internal::CaptureStdout();
  sweep({"--occ_axis=registers==32,64", "--occ_list"});
  const std::string listed = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(listed,
              AllOf(HasSubstr("\"parameters\":\"registers=32\""), HasSubstr("\"theoretical_pct\":50.0")));
  EXPECT_EQ(instruments_.launches, 0);
}

Argument buffer(ElementType type) {
  return {.type = type, .count = 16};
}
Argument value(ElementType type) {
  return {.type = type, .value = 1};
}

TEST(FirstResults, AreComparedWithThoseOfEqualGridsAndArguments) {
  const std::vector<Argument> few = {buffer(ElementType::float32), value(ElementType::int32)};
  std::vector<Argument> other = few;
  other[1].value = 2;
  FirstResults results;
  EXPECT_TRUE(results.compare("k/a", 64, few, 1).is_right);
  EXPECT_TRUE(results.compare("k/b", 64, few, 1).is_right);
  EXPECT_TRUE(results.compare("k/c", 64, other, 2).is_right);
  EXPECT_TRUE(results.compare("k/d", 128, few, 3).is_right);
  const ResultsAnswer answer = results.compare("k/e", 64, few, 2);
  EXPECT_FALSE(answer.is_right);
  EXPECT_EQ(answer.why_wrong,
            "its result differs from that of k/a, which has as many blocks and the same arguments");
  EXPECT_THAT(results.compare("k/f", 64, other, 1).why_wrong, HasSubstr("k/c"));
}

TEST(KernelArguments, AreComparedWithTheParametersThatTheCompilerNames) {
  const Argument floats = buffer(ElementType::float32);
  const Argument number = value(ElementType::int32);
  const auto mismatch_of = [](const std::vector<Argument>& arguments) {
    return mismatch("product<32>(float const*, float*, int)", arguments);
  };
  EXPECT_EQ(mismatch_of({floats, floats, number}), "");
  EXPECT_EQ(mismatch_of({floats, number}), "it has 3 parameters, and --arg is given 2 times");
  EXPECT_EQ(mismatch_of({buffer(ElementType::float64), floats, number}),
            "parameter 1 is float const*, and its --arg is a buffer of double");
  EXPECT_EQ(mismatch_of({floats, floats, value(ElementType::int64)}),
            "parameter 3 is int, and its --arg is a value, long long");
  EXPECT_EQ(mismatch_of({value(ElementType::float32), floats, number}),
            "parameter 1 is float const*, and its --arg is a value, float");
}

TEST(KernelArguments, OfTypesThatHaveNoNameHereAreTakenByTheirBytes) {
  EXPECT_EQ(mismatch("k(void*, float4 const*)", {buffer(ElementType::uint8), buffer(ElementType::float32)}),
            "");
  EXPECT_EQ(mismatch("k<std::pair<int, int> >(long, unsigned long*)",
                     {value(ElementType::int64), buffer(ElementType::uint64)}),
            "");
  EXPECT_EQ(mismatch("k()", {}), "");
  EXPECT_EQ(mismatch("plain_c_name", {buffer(ElementType::uint8)}, {8}), "");
  EXPECT_EQ(mismatch("plain_c_name", {buffer(ElementType::uint8)}, {4}),
            "parameter 1 is 4 bytes, and its --arg is a buffer of unsigned char");
  EXPECT_THAT(mismatch("k(float4)", {value(ElementType::float32)}), HasSubstr("parameter 1 is float4"));
}

std::string why_no_compiler() {
  try {
    Nvrtc::loaded();
    return "";
  } catch (const NoRuntimeCompiler& missing) {
    return missing.what();
  }
}

/// A kernel in a file, planned for a device that is none.
class KernelsInFiles : public Sweeps {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }

  ExitStatus sweep_file(const std::string& text, std::vector<std::string> arguments) {
    std::ofstream(folder_ / "my.cu") << text;
    arguments.push_back("--occ_source=" + (folder_ / "my.cu").string());
    return run(fake_families(), std::move(arguments));
  }
  std::string refusal_of(const std::string& text, std::vector<std::string> arguments) {
    return message_of([&] { sweep_file(text, std::move(arguments)); });
  }
  std::string listed(const std::string& text, std::vector<std::string> arguments) {
    arguments.emplace_back("--occ_list");
    ::testing::internal::CaptureStdout();
    sweep_file(text, std::move(arguments));
    return ::testing::internal::GetCapturedStdout();
  }
};

constexpr const char* kScale = R"(
#ifndef FACTOR
#define FACTOR 2
#endif
template <int kN> __global__ void scale(const float* from, float* to, int n) {
  __shared__ float tile[kN * FACTOR];
  tile[threadIdx.x % (kN * FACTOR)] = from[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) to[threadIdx.x] = tile[0];
}
)";

TEST_F(KernelsInFiles, AreCompiledForEachDefinition) {
  const std::string lines =
      listed(kScale, {"--occ_kernel=scale<64>", "--occ_arg=float[1024]", "--occ_arg=float[1024]",
                      "--occ_arg=64", "--occ_define=FACTOR=2,4"});
  EXPECT_THAT(lines,
              AllOf(HasSubstr("\"case\":\"scale<64>/source/FACTOR=2\""),
                    HasSubstr("\"static_shared_bytes\":512"), HasSubstr("\"static_shared_bytes\":1024")));
}

TEST_F(KernelsInFiles, TakeValuesOfAxesAsArguments) {
  const std::string text = "__global__ void k(float* x, int n) { x[threadIdx.x] = n; }";
  EXPECT_THAT(listed(text, {"--occ_kernel=k", "--occ_arg=float[{block-size}]", "--occ_arg=int={block-size}"}),
              HasSubstr("\"block_threads\":256"));
}

TEST_F(KernelsInFiles, WhoseArgumentsDoNotMatchAreRefused) {
  EXPECT_THAT(
      refusal_of(kScale, {"--occ_kernel=scale<64>", "--occ_arg=float[1024]"}),
      HasSubstr("scale<64>(float const*, float*, int): it has 3 parameters, and --arg is given 1 times"));
  EXPECT_THAT(refusal_of(kScale, {"--occ_kernel=scale<64>", "--occ_arg=float[4]=ones"}), HasSubstr("=ones"));
}

TEST_F(KernelsInFiles, ThatCannotBeReadAreRefused) {
  EXPECT_THROW(run(fake_families(), {"--occ_source=/nowhere/my.cu", "--occ_kernel=k"}), InputError);
}

constexpr const char* kTwo = R"(
template <int kTile> __global__ void tiled(float* x, int n) { x[threadIdx.x % kTile] = n; }
__global__ void plain(float* x, int n) { if (n > 3) x[threadIdx.x] = n; }
__global__ void broken(float* x, int n) { static_assert(MODE == 0); }
)";

TEST_F(KernelsInFiles, MayBeSeveralWhichAreAnAxisAndHaveTemplateArgumentsOfOtherAxes) {
  const std::string lines =
      listed(kTwo, {"--occ_kernel=tiled<{block_size.x / 2}>", "--occ_kernel=plain", "--occ_arg=float[1024]",
                    "--occ_arg={grid.y}", "--occ_define=MODE=0", "--occ_axis=block-size=16x16,32x8",
                    "--occ_axis=grid=8x{block_size.y}"});
  EXPECT_THAT(lines, AllOf(HasSubstr("tiled<8>"), HasSubstr("tiled<16>"), HasSubstr("kernel=plain"),
                           HasSubstr("\"grid_blocks\":128")));
}

TEST_F(KernelsInFiles, OfWhichSomeDoNotCompileKeepTheRowsOfTheOthers) {
  const std::string lines = listed(kTwo, {"--occ_kernel=plain", "--occ_kernel=broken",
                                          "--occ_arg=float[1024]", "--occ_arg=5", "--occ_define=MODE=0,1"});
  EXPECT_THAT(lines, HasSubstr("does not compile for plain: my.cu(4): error: static assertion failed"));
  std::size_t rows = 0;
  for (const char letter : lines) rows += letter == '\n' ? 1 : 0;
  EXPECT_EQ(rows, 4U);
}

TEST_F(KernelsInFiles, AreLaunchedInTheClustersOfTheirSource) {
  constexpr const char* kClusters =
      "__global__ void __cluster_dims__(4) clusters(float* x) { x[threadIdx.x] = 1; }\n";
  const std::vector<std::string> arguments = {"--occ_kernel=clusters", "--occ_arg=float[1024]",
                                              "--occ_axis=block-size=32"};
  EXPECT_THAT(listed(kClusters, arguments),
              AllOf(HasSubstr("\"cluster_blocks\":4"), HasSubstr("\"theoretical_pct\":12.5")));
  std::vector<std::string> others = arguments;
  others.emplace_back("--occ_axis=cluster=2");
  EXPECT_THAT(refusal_of(kClusters, others), HasSubstr("which clusters of 2 contradict"));
}

TEST_F(KernelsInFiles, HaveWorkInMicrosecondsAtTheHighestClock) {
  EXPECT_THAT(listed(kTwo, {"--occ_kernel=plain", "--occ_arg=float[1024]", "--occ_arg=5",
                            "--occ_define=MODE=0", "--occ_axis=work=equal:20us"}),
              HasSubstr("\"work\":\"equal:39600\""));
}

TEST_F(KernelsInFiles, WithEqualMachineCodeAreRacedOnce) {
  const std::string lines =
      listed(kTwo, {"--occ_kernel=plain", "--occ_arg=float[1024]", "--occ_arg=5", "--occ_define=MODE=0",
                    "--occ_axis=registers=32,64,128", "--occ_fastest"});
  EXPECT_THAT(lines, HasSubstr("left out: the same machine code, launch and arguments as plain/source/"));
}

TEST_F(KernelsInFiles, AreCheckedAgainstAKernelWithItsLaunchOrAFile) {
  const auto refused = [&](const std::string& against) {
    return refusal_of(kTwo, {"--occ_kernel=plain", "--occ_arg=float[1024]", "--occ_arg=5",
                             "--occ_define=MODE=0", "--occ_check_against=" + against});
  };
  EXPECT_THAT(refused("tiled<4>"), HasSubstr("naive<<<64x64,16x16>>> (grid, block)"));
  EXPECT_THAT(refused("tiled<4><<<0,32>>>"), HasSubstr("a dimension is at least 1"));
  EXPECT_THAT(refused("tiled<4><<<8,32x64x128>>>"), HasSubstr("z = 128, and CUDA allows 1 to 64"));
  EXPECT_THAT(refused("naive<<<4,4>>>"),
              HasSubstr("--check-against naive<<<4,4>>>: my.cu has no kernel naive"));
  EXPECT_THAT(refused("5=@expected.bin"), HasSubstr("N from 1 to 2"));
  EXPECT_THAT(refused("2=@expected.bin"), HasSubstr("argument 2 is no buffer"));
}

constexpr const char* kBounded = R"(
extern "C" __global__ void __launch_bounds__(256) bounded(const float* from, float* to, int n) {
  to[threadIdx.x] = from[threadIdx.x] * n;
}
template <int N> __global__ void tiled(float* x) { x[threadIdx.x] = N; }
)";

TEST_F(KernelsInFiles, OfCHaveLaunchBoundsAndParametersAsTheirMachineCodeSays) {
  const std::string lines =
      listed(kBounded, {"--occ_kernel=bounded", "--occ_arg=float[1024]", "--occ_arg=float[1024]",
                        "--occ_arg=64", "--occ_axis=block-size=256,512"});
  EXPECT_THAT(lines, AllOf(HasSubstr("\"registers_per_thread\":"),
                           HasSubstr("the launch bounds do not allow 512 threads per block")));
  EXPECT_THAT(lines, ::testing::Not(HasSubstr("do not allow 256")));
  EXPECT_THAT(refusal_of(kBounded, {"--occ_kernel=bounded", "--occ_arg=float[1024]"}),
              HasSubstr("bounded: it has 3 parameters, and --arg is given 1 times"));
  EXPECT_THAT(refusal_of(kBounded, {"--occ_kernel=bounded", "--occ_arg=float[1024]", "--occ_arg=float[1024]",
                                    "--occ_arg=float[64]"}),
              HasSubstr("bounded: parameter 3 is 4 bytes, and its --arg is a buffer of float"));
}

TEST_F(KernelsInFiles, SayThatADefinitionReplacesAParameterOfATemplate) {
  EXPECT_THAT(
      refusal_of(kBounded, {"--occ_kernel=tiled<{N}>", "--occ_arg=float[1024]", "--occ_define=N=8,32"}),
      HasSubstr("--define N replaces the template parameter N too: choose another name"));
}

/// As the toolkit has it: a header that includes some hundred others.
TEST_F(KernelsInFiles, IncludeTheToolkitsLibraries) {
  const std::string text = R"(
#include <cub/block/block_reduce.cuh>
__global__ void sum(const float* x, float* result) {
  using Reduce = cub::BlockReduce<float, BLOCK>;
  __shared__ Reduce::TempStorage shared;
  const float total = Reduce(shared).Sum(x[blockIdx.x * BLOCK + threadIdx.x]);
  if (threadIdx.x == 0) result[blockIdx.x] = total;
}
)";
  if (Nvrtc::loaded().include_folders().empty()) GTEST_SKIP() << "the toolkit's headers are not here";
  EXPECT_THAT(listed(text, {"--occ_kernel=sum", "--occ_arg=float[1<<20]", "--occ_arg=float[4096]",
                            "--occ_define=BLOCK={block-size}", "--occ_axis=block-size=128,256",
                            "--occ_axis=grid={1M / block_size}"}),
              HasSubstr("\"grid_blocks\":8192"));
}

// `occbench sweep` with the program of this build, for a GPU that is not here.
class SweepListed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_compiler(); !why.empty()) GTEST_SKIP() << why;
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
  EXPECT_THAT(printed(list({"spin", "--block-size", "32,256,768"})),
              AllOf(ContainsRegex("spin/plain/block_size=32 .* 50 % +49\\.[0-9]+ % .*  blocks"),
                    ContainsRegex("spin/plain/block_size=768 .* 75 % +74\\.[0-9]+ % .*  warps"),
                    HasSubstr("3 cases, about 1 s")));
}

TEST_F(SweepListed, OfAGpuThatNobodyCalibratedHasTheRangeOfEachPrediction) {
  const Outcome generic = list({"spin", "--block-size", "256"});
  EXPECT_THAT(generic.err, HasSubstr("unverified"));
  double predicted = 0;
  double low = 0;
  double high = 0;
  ASSERT_TRUE(
      RE2::PartialMatch(generic.out, R"(100 % +(\S+) % \((\S+) to (\S+)\)  )", &predicted, &low, &high))
      << generic.out;
  EXPECT_LT(low, predicted);
  EXPECT_GT(high, predicted);
  EXPECT_LE(high, 100) << "even warps never read more than theory";
  const Outcome calibrated = run_command(
      {"sweep", "spin", "--block-size", "256", "--benches", OCC_BENCHES, "--list", "--gpu", "h200"});
  EXPECT_THAT(calibrated.out, ContainsRegex("100 % +99\\.[0-9]+ % \\(99\\.[0-9]+ to 100\\)  warps"))
      << calibrated.err;
}

/// The cliffs of blocks of 256 threads, by the calculator: 32 and 40 registers are the last of their steps.
TEST_F(SweepListed, GivesLiveRegistersExactlyAsManyAsAreAskedFor) {
  for (const auto& [registers, theory] : {std::pair{24, "100 %"},
                                          {31, "100 %"},
                                          {32, "100 %"},
                                          {33, "75 %"},
                                          {40, "75 %"},
                                          {41, "62.5 %"},
                                          {97, "25 %"},
                                          {128, "25 %"}})
    EXPECT_THAT(printed(list({"live_registers", "--registers", "=24,31,32,33,40,41,97,128"})),
                ContainsRegex("registers=" + std::to_string(registers) + " +" + std::to_string(registers) +
                              " +0 +[0-9]+ +" + theory));
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
  // ptxas: "Used 128 registers" with __launch_bounds__(96, 5), for a quarter of an SM has four of their 15 warps.
  EXPECT_THAT(list({"register_pressure", "--min-blocks", "5", "--block-size", "96"}).out,
              ContainsRegex("min_blocks=5 +128 "));
  EXPECT_THAT(list({"register_pressure", "--min-blocks", "2", "--registers", "32"}).err,
              HasSubstr("leave one out"));
}

TEST_F(SweepListed, SkipsAnExactCountThatTheCompilerDoesNotGive) {
  EXPECT_THAT(printed(list({"spin", "--registers", "=20,99"})),
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
    const std::string text = printed(list({kernel, "--waves", "1,2"}));
    EXPECT_THAT(text, HasSubstr("2 cases, about")) << kernel;
    EXPECT_THAT(text, ::testing::Not(HasSubstr("will be skipped"))) << kernel << text;
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
  EXPECT_THAT(printed(list(words)), HasSubstr("add/source/block_size=1024/grid=1024"));
  std::vector<std::string> wrong = words;
  wrong[11] = "--block-sise";
  wrong[10] = "0.5";
  EXPECT_EQ(list(wrong).status, ExitStatus::usage);
}

TEST_F(SweepListed, OfATemplateNamesTheInstanceWhoseParametersTheArgumentsDoNotFit) {
  const std::string file = (folder_.path() / "copy.cu").string();
  std::ofstream(file)
      << "template <int N> __global__ void copy(const float* from, float* to) { to[N] = from[N]; }\n";
  const std::string text = refusal(list({"--source", file, "--kernel", "copy<32>", "--arg", "float[64]"}));
  EXPECT_THAT(text, HasSubstr("copy<32>(float const*, float*): "));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("void copy")));
}

TEST_F(SweepListed, OfASourceThatDoesNotCompileEndsWithTheCompilersMessage) {
  const std::string file = (folder_.path() / "broken.cu").string();
  std::ofstream(file) << "__global__ void broken(float* x) { x[0] = missing; }\n";
  EXPECT_THAT(refusal(list({"--source", file, "--kernel", "broken", "--arg", "float[16]"})),
              AllOf(HasSubstr("broken.cu"), HasSubstr("identifier \"missing\" is undefined")));
}

TEST_F(SweepListed, OfAKernelThatTheSourceLacksSaysThatAndNothingBefore) {
  const std::string file = (folder_.path() / "copy.cu").string();
  std::ofstream(file) << "__global__ void copy(float* x) { x[0] = 1; }\n";
  const std::string text = refusal(list({"--source", file, "--kernel", "copies", "--arg", "float[16]"}));
  EXPECT_THAT(text, ::testing::StartsWith("occbench: copy.cu has no kernel copies; "));
  EXPECT_THAT(text, ::testing::Not(::testing::EndsWith("\n\n")));
}

}  // namespace
}  // namespace occbench
