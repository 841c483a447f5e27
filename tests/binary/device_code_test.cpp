#include "binary/device_code.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <re2/re2.h>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "binary/cuobjdump.hpp"
#include "cli/calc_batch.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

const fs::path kRecorded = OCCBENCH_SOURCE_DIR "/tests/binary/cuobjdump";

/// Puts the cuobjdump that repeats what was recorded of kernels.cu before all others on PATH.
class RecordedCuobjdump {
 public:
  RecordedCuobjdump() {
    setenv("PATH", (kRecorded.string() + ":" + path_).c_str(), 1);
  }
  ~RecordedCuobjdump() {
    setenv("PATH", path_.c_str(), 1);
  }
  RecordedCuobjdump(const RecordedCuobjdump&) = delete;
  RecordedCuobjdump& operator=(const RecordedCuobjdump&) = delete;

 private:
  std::string path_ = std::getenv("PATH");
};

std::vector<DeviceKernel> recorded(const CodeSelection& selection = {}) {
  const RecordedCuobjdump cuobjdump;
  std::ostringstream progress;
  // Which file it is, that cuobjdump does not ask.
  return read_device_code(kRecorded / "resource_usage.txt", selection, progress);
}

std::string refusal_of(const CodeSelection& selection) {
  return message_of([&] { recorded(selection); });
}

// The expected figures are what ptxas -v said when kernels.cu was compiled.
DeviceKernel find(const std::string& name, const std::string& architecture) {
  for (const DeviceKernel& kernel : recorded()) {
    if (source_name(kernel.symbol) == name && kernel.architecture == architecture) return kernel;
  }
  ADD_FAILURE() << "no " << name << " for " << architecture;
  return {};
}

std::vector<std::string> names_of(const std::vector<DeviceKernel>& kernels) {
  std::vector<std::string> names;
  for (const DeviceKernel& kernel : kernels)
    names.push_back(kernel.architecture + " " + source_name(kernel.symbol));
  return names;
}

TEST(DeviceCode, ListsEveryKernelOfEveryArchitectureAndNoOtherFunction) {
  EXPECT_THAT(names_of(recorded()),
              testing::UnorderedElementsAre(
                  "sm_80 plain(float*)", "sm_80 shapes::reversed<256>(float*)",
                  "sm_80 shapes::reversed<1024>(float*)", "sm_80 bounded(float*, int)",
                  "sm_80 named_barriers", "sm_80 spilling(float*)", "sm_90 plain(float*)",
                  "sm_90 shapes::reversed<256>(float*)", "sm_90 shapes::reversed<1024>(float*)",
                  "sm_90 bounded(float*, int)", "sm_90 named_barriers", "sm_90 spilling(float*)"));
}

TEST(DeviceCode, HasRegistersBarriersAndLaunchBounds) {
  EXPECT_EQ(find("plain(float*)", "sm_80").usage.registers_per_thread, 8);
  EXPECT_EQ(find("plain(float*)", "sm_80").usage.barriers, 0);
  EXPECT_EQ(find("shapes::reversed<256>(float*)", "sm_90").usage.registers_per_thread, 10);
  EXPECT_EQ(find("shapes::reversed<256>(float*)", "sm_90").usage.barriers, 1);
  EXPECT_EQ(find("named_barriers", "sm_90").usage.barriers, 6);
  EXPECT_EQ(find("bounded(float*, int)", "sm_90").max_block_threads, 256);
  EXPECT_EQ(find("plain(float*)", "sm_90").max_block_threads, 0);
  EXPECT_EQ(find("plain(float*)", "sm_90").toolkit, "13.0.88");
}

TEST(Cubin, OfCuda12HasTheBarriersThatTheAssemblerReports) {
  // ptxas -v of CUDA 12.6 for a kernel of `bar.sync 9, 64;`: "used 10 barriers", and for an empty one "used 0 barriers".
  const Cubin cubin = parse_cubin(read_text(kRecorded / "barriers.sm_70.cubin"), "cubin");
  EXPECT_EQ(cubin.kernels.at("waits").barriers, 10);
  EXPECT_EQ(cubin.kernels.at("plain").barriers, 0);
}

TEST(DeviceCode, HasSharedMemoryWithoutTheReserveThatTheLinkerAddsFrom90On) {
  EXPECT_EQ(find("shapes::reversed<1024>(float*)", "sm_80").usage.static_shared_bytes, 4096);
  EXPECT_EQ(find("shapes::reversed<1024>(float*)", "sm_90").usage.static_shared_bytes, 4096);
  EXPECT_EQ(find("plain(float*)", "sm_90").usage.static_shared_bytes, 0);
}

TEST(DeviceCode, CountsSpillsInTheInstructions) {
  // 40 bytes of spill stores and as many of loads in each: eight of 4 bytes and one of 8.
  for (const char* architecture : {"sm_80", "sm_90"}) {
    const DeviceKernel spilling = find("spilling(float*)", architecture);
    EXPECT_EQ(spilling.stack_bytes, 48);
    EXPECT_EQ(spilling.usage.local_bytes_per_thread, 48);
    ASSERT_TRUE(spilling.local);
    EXPECT_EQ(spilling.local->stores, 9);
    EXPECT_EQ(spilling.local->loads, 9);
    EXPECT_EQ(spilling.local->bytes, 80);
    EXPECT_EQ(find("plain(float*)", architecture).local.value().stores, 0);
  }
}

TEST(DeviceCode, DoesNotCountInstructionsWhereTooManyCubinsHaveThem) {
  for (const DeviceKernel& kernel : recorded({.most_disassembled = 1})) {
    // A kernel without local memory has none, but where its functions may recurse.
    const std::string name = source_name(kernel.symbol);
    EXPECT_EQ(kernel.local.has_value(), name != "spilling(float*)" && name != "bounded(float*, int)");
    EXPECT_GT(kernel.usage.registers_per_thread, 0);
  }
  for (const DeviceKernel& kernel : recorded({.most_disassembled = 2})) EXPECT_TRUE(kernel.local);
}

TEST(DeviceCode, IsReadWithoutNvdisasmButForItsInstructions) {
  ::setenv("NO_NVDISASM", "1", 1);
  const RecordedCuobjdump cuobjdump;
  const std::string file = (kRecorded / "resource_usage.txt").string();
  const Outcome table = run_command({"calc", "--from", file.c_str()});
  const Outcome rows = run_command({"calc", "--from", file.c_str(), "--format", "csv"});
  ::unsetenv("NO_NVDISASM");
  EXPECT_EQ(table.status, ExitStatus::done);
  EXPECT_EQ(table.err,
            "local loads and stores of 4 kernels are not counted: cuobjdump finds no nvdisasm; it comes with "
            "the CUDA "
            "toolkit (package cuda-nvdisasm-*), and `pip install nvidia-cuda-nvdisasm` has it too\n");
  EXPECT_THAT(table.out, testing::AllOf(HasSubstr("48            ?"), HasSubstr("?            not known: ")));
  const CsvTable csv = parse_csv(rows.out, "rows");
  EXPECT_EQ(csv.rows.size(), recorded().size());
  // A gate on rows without them says what it could not compare.
  const TemporaryFolder folder;
  const std::string without = folder.path() / "without.csv";
  const std::string with = folder.path() / "with.csv";
  std::ofstream(without) << rows.out;
  std::ofstream(with) << run_command({"calc", "--from", file.c_str(), "--format", "csv"}).out;
  const Outcome gate = run_command({"gate", with.c_str(), without.c_str()});
  EXPECT_EQ(gate.status, ExitStatus::no_verdict);
  EXPECT_THAT(gate.out, HasSubstr("spill_bytes 80 -> (empty)"));
  EXPECT_THAT(
      printed({"gate", without.c_str(), without.c_str()}),
      HasSubstr("spill_bytes of 4 kernels are not compared: neither side counted local loads and stores"));
  EXPECT_THAT(printed({"gate", with.c_str(), with.c_str()}),
              testing::Not(HasSubstr("not compared: neither")));
}

TEST(DeviceCode, IsAnsweredForSeveralGpusOneAfterAnother) {
  const RecordedCuobjdump cuobjdump;
  const std::string file = (kRecorded / "resource_usage.txt").string();
  const auto ask = [&](const char* option, const char* gpus, const char* format) {
    return run_command(
        {"calc", "--from", file.c_str(), "--kernel", "plain", option, gpus, "--format", format});
  };
  const std::string text = ask("--gpu", "a100,h200", "table").out;
  EXPECT_LT(text.find("a100:\nkernel"), text.find("sm_80"));
  EXPECT_LT(text.find("sm_80"), text.find("h200:\nkernel"));
  EXPECT_LT(text.find("h200:\nkernel"), text.find("sm_90"));
  EXPECT_THAT(ask("--cc", "8.6,9.0", "table").out,
              testing::AllOf(HasSubstr("8.6:\nkernel"), HasSubstr("9.0:\nkernel")));
  EXPECT_THAT(ask("--gpu", "a100,h200", "csv").err, HasSubstr("rows are of one GPU: ask for each"));
  const Outcome one_cannot = ask("--cc", "7.5,9.0", "table");
  EXPECT_EQ(one_cannot.status, ExitStatus::no_verdict);
  EXPECT_THAT(one_cannot.out, testing::AllOf(HasSubstr("7.5:\nno answer: "), HasSubstr("9.0:\nkernel")));
  EXPECT_EQ(ask("--cc", "7.0,7.5", "table").status, ExitStatus::usage);
}

TEST(DeviceCode, RowsAndTheGateSayWhichBlockSizeWasAssumed) {
  const TemporaryFolder folder;
  const auto rows_with = [&](int static_bytes, const BinaryQuestion& question) {
    DeviceKernel kernel = find("plain(float*)", "sm_90");
    kernel.usage.static_shared_bytes = static_bytes;
    const std::string file = folder.path() / fmt::format("{}.csv", static_bytes);
    std::ofstream(file) << answer_binary({&kernel, 1}, question, AnswerFormat::csv);
    return file;
  };
  const auto gate = [&](const BinaryQuestion& question) {
    return run_command(
        std::vector<std::string>{"gate", rows_with(8192, question), rows_with(16'384, question)});
  };
  const Outcome assumed = gate({});
  EXPECT_EQ(assumed.status, ExitStatus::regression);
  EXPECT_THAT(assumed.out,
              HasSubstr("theoretical occupancy is no lower (256 threads per block assumed: calc --from takes "
                        "--block-size); if the change is meant"));
  EXPECT_THAT(gate({.block_threads = 256}).out, HasSubstr("theoretical occupancy is no lower; if"));
  EXPECT_THAT(gate({.block_threads = 128}).out, HasSubstr("theoretical_pct 100 -> 81.25"));
  DeviceKernel bounded = find("plain(float*)", "sm_90");
  bounded.max_block_threads = 128;
  EXPECT_THAT(answer_binary({&bounded, 1}, {}, AnswerFormat::csv),
              HasSubstr("128 threads per block, its launch bounds, assumed: calc --from takes"));
  DeviceKernel required = find("plain(float*)", "sm_90");
  required.required_block_threads = 128;
  EXPECT_THAT(answer_binary({&required, 1}, {}, AnswerFormat::csv), testing::Not(HasSubstr("assumed:")));
}

TEST(DeviceCode, LocalAccessesHaveTheWidthThatTheirNameSays) {
  CodeListing listing;
  listing.read("\t\tFunction : all_widths");
  for (const char* operation : {"LDL.128 R4, [R1]", "STL.64 [R1], R2", "@!P0 LDL.LU R0, [R1+0x8]",
                                "STL.U8 [R1], R0", "LDL.S16 R0, [R1]", "LDG.E.128 R4, [R2]"}) {
    listing.read(fmt::format("        /*0010*/   {} ;", operation));
  }
  const LocalAccesses& found = listing.functions().at("all_widths");
  EXPECT_EQ(found.loads, 3);
  EXPECT_EQ(found.stores, 2);
  EXPECT_EQ(found.bytes, 16 + 8 + 4 + 1 + 2);
}

TEST(DeviceCode, RunsTheNewestOfItsMajorComputeCapabilityThatIsNotNewerThanTheGpu) {
  for (const DeviceKernel& kernel : recorded({.runs_on = ComputeCapability{8, 6}}))
    EXPECT_EQ(kernel.architecture, "sm_80");
  EXPECT_EQ(recorded({.runs_on = ComputeCapability{9, 0}}).size(), 6u);
  EXPECT_EQ(recorded().size(), 12u);
  EXPECT_THAT(refusal_of({.runs_on = ComputeCapability{7, 5}}),
              testing::EndsWith(
                  "no machine code runs on compute capability 7.5; there is code for sm_80, sm_90: build "
                  "with nvcc -arch=sm_75"));
  // nvcc 13: "Unsupported gpu architecture 'compute_70'".
  EXPECT_THAT(refusal_of({.runs_on = ComputeCapability{7, 0}}),
              testing::EndsWith("build with nvcc -arch=sm_70 of an older toolkit, which has it"));
}

/// Puts a script before all others on PATH, as cuobjdump.
class ScriptedCuobjdump {
 public:
  explicit ScriptedCuobjdump(const std::string& script) {
    const fs::path program = folder_.path() / "cuobjdump";
    std::ofstream(program) << "#!/bin/sh\n" << script;
    fs::permissions(program, fs::perms::owner_all);
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~ScriptedCuobjdump() {
    ::setenv("PATH", path_.c_str(), 1);
  }
  ScriptedCuobjdump(const ScriptedCuobjdump&) = delete;
  ScriptedCuobjdump& operator=(const ScriptedCuobjdump&) = delete;

 private:
  TemporaryFolder folder_;
  std::string path_ = std::getenv("PATH");
};

TEST(DeviceCode, OfAnArchitectureThatNvdisasmLacksIsReadButForItsInstructions) {
  // As nvdisasm 13.2 for sm_70.
  const ScriptedCuobjdump cuobjdump(
      fmt::format("case \"$*\" in -sass*sm_80*)\n"
                  "  echo 'nvdisasm fatal   : CUDA architecture \"SM80\" is deprecated. Please use CUDA "
                  "toolkit 13.0' >&2\n"
                  "  printf '\\n\\tcode for sm_80\\n'; exit 1;;\n"
                  "esac\nexec '{}' \"$@\"\n",
                  (kRecorded / "cuobjdump").string()));
  std::ostringstream remarks;
  int spilling = 0;
  for (const DeviceKernel& kernel : read_device_code(kRecorded / "resource_usage.txt", {}, remarks)) {
    if (source_name(kernel.symbol) != "spilling(float*)") continue;
    ++spilling;
    EXPECT_EQ(kernel.local.has_value(), kernel.architecture == "sm_90");
    EXPECT_EQ(kernel.stack_bytes, 48);
  }
  EXPECT_EQ(spilling, 2);
  EXPECT_THAT(remarks.str(),
              HasSubstr("local loads and stores of 2 kernels are not counted: CUDA architecture \"SM80\" is "
                        "deprecated. Please use CUDA toolkit 13.0\n"));
}

TEST(DeviceCode, SaysWhatAToolSaidThatCannotBeginAtAll) {
  const ScriptedCuobjdump cuobjdump(
      "echo \"$0: error while loading shared libraries: libz.so.1\" >&2; echo more >&2; exit 127\n");
  std::ostringstream remarks;
  EXPECT_THAT(message_of([&] { read_device_code(kRecorded / "resource_usage.txt", {}, remarks); }),
              testing::EndsWith("resource_usage.txt: error while loading shared libraries: libz.so.1"));
}

TEST(DeviceCode, ThatIsNotLinkedIsRefusedWithTheRemedy) {
  // As of nvcc -rdc=true: the cubin of 9.0 says that it is not linked.
  const ScriptedCuobjdump cuobjdump(
      fmt::format("'{}' \"$@\"\n[ $1 != -xelf ] || printf '\\001' | dd of=kernels.2.sm_90.cubin bs=1 seek=16 "
                  "conv=notrunc status=none\n",
                  (kRecorded / "cuobjdump").string()));
  const auto read = [](const std::string& architecture) {
    std::ostringstream remarks;
    return read_device_code(kRecorded / "resource_usage.txt", {.architecture = architecture}, remarks);
  };
  EXPECT_THAT(
      message_of([&] { read("sm_90"); }),
      testing::AllOf(HasSubstr("is relocatable code (nvcc -rdc=true)"), HasSubstr("ask the linked program")));
  EXPECT_EQ(read("sm_80").size(), 6u) << "which is linked";
}

/// What is read where a script changes what cuobjdump says: code of 9.0, by name.
std::map<std::string, DeviceKernel> changed(const std::string& script) {
  const ScriptedCuobjdump cuobjdump(
      fmt::format("'{}' \"$@\" | {}\n", (kRecorded / "cuobjdump").string(), script));
  std::ostringstream remarks;
  std::map<std::string, DeviceKernel> kernels;
  for (const DeviceKernel& kernel :
       read_device_code(kRecorded / "resource_usage.txt", {.architecture = "sm_90"}, remarks))
    kernels[source_name(kernel.symbol)] = kernel;
  return kernels;
}

constexpr const char* kBounded = "bounded(float*, int)";
constexpr const char* kSpilling = "spilling(float*)";

/// The cubin's symbols 21 and 17, `bounded` and another, as caller and callee of its call graph.
constexpr const char* kCalls =
    "cat; [ $1 != -xelf ] || printf '\\025\\000\\000\\000\\021\\000\\000\\000' |"
    " dd of=kernels.2.sm_90.cubin bs=1 seek=5312 conv=notrunc status=none";

TEST(DeviceCode, OfLinkedKernelsThatCallFunctionsWithAStackTheLocalAccessesAreNotKnown) {
  const std::map<std::string, DeviceKernel> with_stack =
      changed(fmt::format("sed 's/REG:18 STACK:0/REG:18 STACK:264/' | {{ {}; }}", kCalls));
  EXPECT_FALSE(with_stack.at(kBounded).local);
  EXPECT_EQ(with_stack.at(kBounded).stack_bytes, 264);
  EXPECT_EQ(with_stack.at(kSpilling).local.value().bytes, 80);
  // Without a stack the functions have none.
  const std::map<std::string, DeviceKernel> without = changed(fmt::format("{{ {}; }}", kCalls));
  EXPECT_EQ(without.at(kBounded).local.value().bytes, 0);
  const DeviceKernel& unknown = with_stack.at(kBounded);
  EXPECT_THAT(answer_binary({&unknown, 1}, {}, AnswerFormat::table),
              testing::ContainsRegex("bounded .* 264 +264 +\\? "));
  const TemporaryFolder folder;
  const std::string file = folder.path() / "rows.csv";
  std::ofstream(file) << answer_binary({&unknown, 1}, {}, AnswerFormat::csv);
  EXPECT_THAT(printed({"gate", file.c_str(), file.c_str()}),
              testing::AllOf(HasSubstr("spill_bytes of 1 kernel is not compared"),
                             HasSubstr("found: one more register or byte of shared memory; any loss")));
}

TEST(DeviceCode, OfRecursionTheStackIsNotKnownAndTheAccessesAre) {
  // cuobjdump 13 shows a stack of 0 where a function within the kernel's code calls itself, as `sum_of_sines` does not.
  const DeviceKernel recursive =
      changed("sed '/Function : _Z7boundedPfi/a /*0000*/ STL.64 [R1], R2 ;'").at(kBounded);
  EXPECT_EQ(recursive.local.value().bytes, 8);
  EXPECT_FALSE(recursive.stack_bytes);
  EXPECT_FALSE(recursive.usage.local_bytes_per_thread);
  EXPECT_THAT(answer_binary({&recursive, 1}, {}, AnswerFormat::table),
              testing::ContainsRegex("bounded .* \\? +\\? +0/1 "));
  EXPECT_EQ(find(kBounded, "sm_90").stack_bytes, 0);
  EXPECT_EQ(find(kBounded, "sm_90").usage.local_bytes_per_thread, 0);
  const DeviceKernel unseen = changed("sed 's/Function : _Z7boundedPfi/Function : other/'").at(kBounded);
  EXPECT_FALSE(unseen.stack_bytes || unseen.local);
  const DeviceKernel unknown = changed("sed 's/STACK:48/STACK:UNKNOWN/'").at(kSpilling);
  EXPECT_FALSE(unknown.stack_bytes);
  EXPECT_EQ(unknown.local.value().bytes, 80);
}

TEST(DeviceCode, OfAStackThatGenericInstructionsUseTheLocalAccessesAreNotKnown) {
  const DeviceKernel debugged = changed("sed 's/LDL/LD.E/; s/STL/ST.E/'").at(kSpilling);
  EXPECT_EQ(debugged.stack_bytes, 48);
  EXPECT_FALSE(debugged.local);
}

TEST(DeviceCode, OfAFamilyHasTheLetterThatCuobjdumpShowsBeforeItsResources) {
  const ScriptedCuobjdump cuobjdump(
      fmt::format("'{}' \"$@\" | sed 's/arch = sm_90/arch = sm_90f/'\n", (kRecorded / "cuobjdump").string()));
  const auto read = [](const char* architecture) {
    std::ostringstream remarks;
    return read_device_code(kRecorded / "resource_usage.txt", {.architecture = architecture}, remarks);
  };
  EXPECT_EQ(read("sm_90f").front().architecture, "sm_90f");
  EXPECT_EQ(read("9.0").front().architecture, "sm_90f");
  EXPECT_THAT(message_of([&] { read("sm_90"); }), HasSubstr("there is code for sm_80, sm_90f"));
}

// CUDA C++ Programming Guide, "Binary Compatibility".
TEST(DeviceCode, OfTegraRunsOnItsOwnComputeCapabilityAloneAndNoOtherRunsThere) {
  EXPECT_THAT(
      refusal_of({.runs_on = ComputeCapability{8, 7}}),
      HasSubstr("no machine code runs on compute capability 8.7; there is code for sm_80, sm_90: build"));
  const ScriptedCuobjdump cuobjdump(
      fmt::format("'{}' \"$@\" | sed s/sm_80/sm_87/\n", (kRecorded / "cuobjdump").string()));
  const auto read = [](ComputeCapability gpu) {
    std::ostringstream remarks;
    return read_device_code(kRecorded / "elf_files.txt", {.kernels = "plain", .runs_on = gpu}, remarks);
  };
  EXPECT_THAT(message_of([&] { read({8, 9}); }), HasSubstr("no machine code runs on compute capability 8.9"));
}

TEST(DeviceCode, ToBeOptimizedAtLinkTimeIsInTheLinkedProgram) {
  const ScriptedCuobjdump cuobjdump("[ $1 != -res-usage ] || echo 'Fatbin nvvm code:'\n");
  std::ostringstream remarks;
  EXPECT_THAT(message_of([&] { read_device_code(kRecorded / "resource_usage.txt", {}, remarks); }),
              HasSubstr("no kernels in machine code; it has NVVM IR, which is compiled at link time"));
}

TEST(DeviceCode, WithoutKernelsSaysSo) {
  const ScriptedCuobjdump cuobjdump(
      fmt::format("'{}' \"$@\" | sed 's/ CONSTANT.*//'\n", (kRecorded / "cuobjdump").string()));
  std::ostringstream remarks;
  EXPECT_THAT(message_of([&] { read_device_code(kRecorded / "resource_usage.txt", {}, remarks); }),
              HasSubstr("has no kernels in its machine code, only functions: ask"));
}

/// As of a temporary folder on a full disk: /proc has no space at all.
TEST(DeviceCode, SaysWhereNoSpaceIsLeft) {
  const ScriptedCuobjdump cuobjdump("exit 1\n");
  const std::string file = kRecorded / "resource_usage.txt";
  const auto message = [&] { return run_command({"calc", "--from", file.c_str()}).err; };
  EXPECT_THAT(message(), HasSubstr("cuobjdump ended with exit status 1"));
  EXPECT_THAT(message(), testing::Not(HasSubstr("no space left")));
  const std::string before = fs::temp_directory_path();
  ::setenv("TMPDIR", "/proc", 1);
  const std::string full = message();
  const std::string torn = with_lack_of_space("a.3.sm_80.cubin is not a whole cubin");
  ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_THAT(full, HasSubstr("no space left in /proc, where cuobjdump writes: set TMPDIR to another folder "
                              "(cuobjdump ended with exit status 1)"));
  EXPECT_THAT(torn, HasSubstr("another folder (a.3.sm_80.cubin is not a whole cubin)"));
}

TEST(DeviceCode, IsSelectedByNameAndArchitecture) {
  EXPECT_THAT(names_of(recorded({.kernels = "reversed<(256|512)>"})),
              testing::UnorderedElementsAre("sm_80 shapes::reversed<256>(float*)",
                                            "sm_90 shapes::reversed<256>(float*)"));
  for (const char* architecture : {"sm_90", "90", "9.0"}) {
    EXPECT_EQ(recorded({.architecture = architecture}).size(), 6u) << architecture;
  }
  EXPECT_THAT(names_of(recorded({.kernels = "_Z7boundedPfi", .architecture = "sm_90"})),
              testing::ElementsAre("sm_90 bounded(float*, int)"));
  EXPECT_THAT(refusal_of({.kernels = "no_such"}), HasSubstr("--kernel 'no_such' is found in"));
  EXPECT_THAT(refusal_of({.kernels = "(", .architecture = "sm_90"}),
              HasSubstr("is not a regular expression"));
  EXPECT_THAT(refusal_of({.architecture = "sm_90a"}), HasSubstr("no machine code is of architecture sm_90a"));
}

TEST(DeviceCode, OfSm90IsWithoutThatOfSm90a) {
  const ScriptedCuobjdump cuobjdump(
      fmt::format("'{}' \"$@\" | sed s/sm_80/sm_90a/\n", (kRecorded / "cuobjdump").string()));
  std::ostringstream remarks;
  EXPECT_EQ(read_device_code(kRecorded / "resource_usage.txt", {.architecture = "sm_90"}, remarks).size(),
            6u);
}

TEST(DeviceCode, IsReadAsInstructionsOnlyForKernelsThatUseLocalMemory) {
  setenv("NO_CODE", "1", 1);
  EXPECT_EQ(recorded({.kernels = "plain|reversed|named_barriers"}).size(), 8u);
  EXPECT_FALSE(recorded({.kernels = "spilling"}).front().local);
  unsetenv("NO_CODE");
}

CsvTable answered(const std::vector<DeviceKernel>& kernels, const BinaryQuestion& question) {
  return parse_csv(answer_binary(kernels, question, AnswerFormat::csv), "answers");
}

TEST(DeviceCode, IsARowForEachKernelAtTheBlockSizeOfItsLaunchBounds) {
  const CsvTable table =
      answered({find("bounded(float*, int)", "sm_90"), find("plain(float*)", "sm_90")}, {});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table_cell(table, 0, "experiment"), "binary");
  EXPECT_EQ(table_cell(table, 0, "case"), "bounded(float*, int) sm_90");
  EXPECT_EQ(table_cell(table, 0, "block_threads"), "256");
  EXPECT_EQ(table_cell(table, 0, "registers_per_thread"), "18");
  EXPECT_EQ(table_cell(table, 0, "theoretical_pct"), "100");
  EXPECT_EQ(table_cell(table, 0, "code_architecture"), "sm_90");
  EXPECT_EQ(table_cell(table, 0, "cuda_toolkit"), "13.0.88");
  const std::vector<Row> rows = rows_of(table, "answers");
  EXPECT_EQ(rows[1].spill_bytes, 0);
  EXPECT_EQ(rows[1].compute_capability, "9.0");
}

/// With 18 registers 2,048 threads of an SM can be of 256 or of 1,024 threads a block: the larger are beyond its bounds.
TEST(DeviceCode, NoAnswerNamesABlockSizeBeyondTheLaunchBounds) {
  DeviceKernel kernel = find("bounded(float*, int)", "sm_90");
  const auto best_of = [](const DeviceKernel& asked) {
    return table_cell(answered({asked}, {}), 0, "best_block_threads");
  };
  const auto report = [&](int block_threads) {
    return answer_binary({&kernel, 1}, {.block_threads = block_threads}, AnswerFormat::table);
  };
  EXPECT_EQ(best_of(find("plain(float*)", "sm_90")), "1024");
  EXPECT_EQ(best_of(kernel), "256");
  EXPECT_THAT(answer_binary({&kernel, 1}, {}, AnswerFormat::table),
              testing::ContainsRegex("at 1024 +at bounds\n.* 256: 100\n"));
  EXPECT_THAT(report(224), testing::AllOf(HasSubstr("highest by block size 100 % with 256 threads"),
                                          HasSubstr("256 threads per block instead of 224")));
  kernel.required_block_threads = 224;
  EXPECT_EQ(best_of(kernel), "224");
  EXPECT_THAT(report(224), testing::Not(HasSubstr("threads per block instead of")));
}

TEST(DeviceCode, CannotLaunchBeyondItsLaunchBounds) {
  DeviceKernel kernel = find("bounded(float*, int)", "sm_90");
  const CsvTable beyond = answered({kernel}, {.block_threads = 512});
  EXPECT_EQ(table_cell(beyond, 0, "theoretical_pct"), "0");
  EXPECT_EQ(table_cell(beyond, 0, "cannot_launch"), "the launch bounds do not allow 512 threads per block");
  kernel.required_block_threads = 128;
  EXPECT_EQ(table_cell(answered({kernel}, {}), 0, "block_threads"), "128");
  EXPECT_EQ(table_cell(answered({kernel}, {.block_threads = 64}), 0, "theoretical_pct"), "0");
}

/// The kernel `bounded`, whose launch bounds, (256, 1, 1), are another attribute, of (4, 1, 1).
CubinKernel bounded_with(char attribute) {
  std::string bytes = read_text(kRecorded / "kernels.2.sm_90.cubin");
  bytes.replace(bytes.find(std::string("\x04\x05\x0c\x00\x00\x01", 6)), 6,
                std::string({'\x04', attribute, '\x0c', '\x00', '\x04', '\x00'}));
  return parse_cubin(bytes, "cubin").kernels["_Z7boundedPfi"];
}

TEST(DeviceCode, HasTheClustersOfItsSource) {
  EXPECT_EQ(bounded_with('\x3d').cluster_blocks, 4);
  DeviceKernel kernel = find("plain(float*)", "sm_90");
  kernel.cluster_blocks = 4;
  const auto of = [&](int asked, const char* column) {
    return table_cell(answered({kernel}, {.block_threads = 32, .launch = {.cluster_blocks = asked}}), 0,
                      column);
  };
  EXPECT_EQ(of(1, "cluster_blocks"), "4");
  EXPECT_EQ(of(1, "theoretical_pct"), "12.5");
  EXPECT_EQ(of(4, "theoretical_pct"), "12.5");
  EXPECT_EQ(of(2, "cannot_launch"), "the source sets clusters of 4 blocks, which clusters of 2 contradict");
}

TEST(DeviceCode, HasTheLargestClusterOfItsLaunchBounds) {
  EXPECT_EQ(bounded_with('\x3f').max_cluster_blocks, 4);
  DeviceKernel kernel = find("plain(float*)", "sm_90");
  kernel.max_cluster_blocks = 4;
  const auto of = [&](int asked, AnswerFormat format) {
    return answer_binary({&kernel, 1}, {.block_threads = 128, .launch = {.cluster_blocks = asked}}, format);
  };
  EXPECT_THAT(of(4, AnswerFormat::table), testing::ContainsRegex("plain .* 0  +50\n"));
  EXPECT_THAT(of(8, AnswerFormat::table), testing::ContainsRegex("plain .* 0  +-\n"));
  EXPECT_THAT(of(8, AnswerFormat::csv), HasSubstr("the launch bounds do not allow clusters of 8 blocks"));
}

TEST(DeviceCode, RowsAreReadAgainAsABatch) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "rows.csv";
  std::ofstream(file) << answer_binary(recorded(), {}, AnswerFormat::csv);
  const CsvTable again = parse_csv(printed({"calc", "--batch", file.c_str()}), "again");
  ASSERT_EQ(again.rows.size(), 12u);
  EXPECT_EQ(table_cell(again, 0, "theoretical_pct"),
            table_cell(answered(recorded(), {}), 0, "theoretical_pct"));
}

TEST(DeviceCode, LaunchBoundsThatAreGoneAreARegressionThoughTheBlockSizeIsAssumed) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const int bounds : {256, 0}) {
    DeviceKernel kernel = find("plain(float*)", "sm_90");
    kernel.max_block_threads = bounds;
    files.push_back(folder.path() / fmt::format("{}.csv", bounds));
    std::ofstream(files.back()) << answer_binary({&kernel, 1}, {}, AnswerFormat::csv);
  }
  const Outcome gate = run_command(std::vector<std::string>{"gate", files[0], files[1]});
  EXPECT_EQ(gate.status, ExitStatus::regression);
  EXPECT_THAT(gate.out, HasSubstr("max_block_threads 256 -> (empty)"));
}

TEST(DeviceCode, KernelsOfOneNameAreNumbered) {
  const DeviceKernel kernel = find("plain(float*)", "sm_90");
  DeviceKernel larger = kernel;
  larger.usage.registers_per_thread += 8;
  // Another order of files is no change.
  for (const bool larger_first : {false, true}) {
    const CsvTable table = answered(
        {larger_first ? larger : kernel, larger_first ? kernel : larger, find("plain(float*)", "sm_80")}, {});
    EXPECT_EQ(table_cell(table, larger_first, "case"), "plain(float*) sm_90 (1 of 2)");
    EXPECT_EQ(table_cell(table, !larger_first, "case"), "plain(float*) sm_90 (2 of 2)");
    EXPECT_EQ(table_cell(table, 2, "case"), "plain(float*) sm_80");
  }
  const std::vector<DeviceKernel> both = {kernel, larger};
  EXPECT_THAT(answer_binary(both, {}, AnswerFormat::table),
              testing::AllOf(HasSubstr("\nplain (1 of 2) "), HasSubstr("\nplain (2 of 2) ")));
}

TEST(DeviceCode, OneCopyMoreOfAKernelIsNoChangeUnlessItNeedsMore) {
  const TemporaryFolder folder;
  const DeviceKernel kernel = find("plain(float*)", "sm_90");
  DeviceKernel larger = kernel;
  larger.usage.registers_per_thread += 8;
  const auto status = [&](const std::vector<DeviceKernel>& before, const std::vector<DeviceKernel>& now) {
    const std::string files[] = {folder.path() / "before.csv", folder.path() / "now.csv"};
    std::ofstream(files[0]) << answer_binary(before, {}, AnswerFormat::csv);
    std::ofstream(files[1]) << answer_binary(now, {}, AnswerFormat::csv);
    return run_command(std::vector<std::string>{"gate", files[0], files[1]}).status;
  };
  EXPECT_EQ(status({kernel, kernel}, {kernel, kernel, kernel}), ExitStatus::done);
  EXPECT_EQ(status({kernel}, {kernel, kernel}), ExitStatus::done);
  EXPECT_EQ(status({larger, kernel}, {kernel, larger, kernel, larger}), ExitStatus::done);
  EXPECT_EQ(status({kernel, kernel}, {larger, larger}), ExitStatus::regression);
  EXPECT_EQ(status({kernel, kernel}, {kernel, larger}), ExitStatus::no_verdict);
}

TEST(DeviceCode, LongNamesKeepWhatNamesTheKernel) {
  DeviceKernel kernel = find("bounded(float*, int)", "sm_90");
  const auto shown = [&](const char* symbol) {
    kernel.symbol = symbol;
    return answer_binary({&kernel, 1}, {}, AnswerFormat::table);
  };
  // occbench::(anonymous namespace)::spin_kernel(occbench::WarpCyclesView, occbench::WarpRecord*)
  EXPECT_THAT(shown("_ZN8occbench39_GLOBAL__N__11ddb033_7_hold_cu_7cbfc14911spin_kernelENS_14WarpCyclesViewE"
                    "PNS_10WarpRecordE"),
              HasSubstr("\nspin_kernel "));
  // cub::detail::reduce::DeviceReduceKernel<float, double, int, int, int, int, int>() and another of its namespace
  EXPECT_THAT(shown("_ZN3cub6detail6reduce18DeviceReduceKernelIfdiiiiiEEvv"),
              HasSubstr("\nDeviceReduceKernel<"));
  EXPECT_THAT(shown("_ZN3cub6detail6reduce28DeviceReduceSingleTileKernelIfdiiiiiEEvv"),
              HasSubstr("\nDeviceReduceSingleTile"));
  std::vector<DeviceKernel> alike(2, kernel);
  // void f<g<...>>(), with a type whose own arguments do not fit: of 40, one in the middle is another.
  const auto symbol_of = [](char type) {
    const std::string ints(20, 'i');
    return fmt::format("_Z14a_kernel_of_40I6a_typeI{}{}{}EEvv", ints, type, ints);
  };
  alike[0].symbol = symbol_of('i');
  alike[1].symbol = symbol_of('f');
  EXPECT_THAT(answer_binary(alike, {}, AnswerFormat::table), HasSubstr(" #2 "));
  // Of names that differ in what is left out otherwise, namespaces and arguments stay.
  alike[0].symbol = "_Z5scalePf";
  alike[1].symbol = "_ZN4lib25scaleEPd";
  EXPECT_THAT(answer_binary(alike, {}, AnswerFormat::table),
              testing::AllOf(HasSubstr("\nscale(float*) "), HasSubstr("\nlib2::scale(double*) ")));
}

TEST(Cubin, IsRefusedWhereItIsNoneOrIsCutOff) {
  const std::string whole = read_text(kRecorded / "kernels.2.sm_90.cubin");
  EXPECT_EQ(parse_cubin(whole, "cubin").kernels.size(), 6u);
  EXPECT_THAT(parse_cubin(whole, "cubin").kernels["_Z7boundedPfi"].parameter_bytes,
              testing::ElementsAre(8, 4));
  EXPECT_THROW(parse_cubin("", "nothing"), InputError);
  EXPECT_THROW(parse_cubin(read_text("/proc/self/exe"), "this test"), InputError);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    try {
      parse_cubin(std::string_view(whole).substr(0, size), "cut off");
    } catch (const InputError&) {
      continue;
    }
    ADD_FAILURE() << size << " of " << whole.size() << " bytes were taken for a whole cubin";
  }
}

TEST(Cubin, SaysWhichKernelsMoveRegistersBetweenTheirWarps) {
  std::string cubin = read_text(kRecorded / "kernels.2.sm_90.cubin");
  EXPECT_FALSE(parse_cubin(cubin, "cubin").kernels["_Z7boundedPfi"].moves_registers);
  // nvcc -arch=sm_90a writes this attribute of setmaxnreg; here it takes the place of EIATTR_SPARSE_MMA_MASK.
  using namespace std::string_literals;
  for (std::size_t at = 0; (at = cubin.find("\x03\x50\0\0"s, at)) != cubin.npos; ++at)
    cubin.replace(at, 4, "\x01\x54\0\0"s);
  EXPECT_TRUE(parse_cubin(cubin, "cubin").kernels["_Z7boundedPfi"].moves_registers);
}

TEST(DeviceCode, OfCodeThatSpillsOrMovesRegistersNoAnswerNamesFewer) {
  DeviceKernel kernel = find("plain(float*)", "sm_90");
  kernel.usage.registers_per_thread = 40;
  const auto report = [&] {
    return answer_binary({&kernel, 1}, {.block_threads = 512}, AnswerFormat::table);
  };
  EXPECT_THAT(report(), HasSubstr("32 registers per thread instead of 40: 100 %"));
  for (const std::optional<LocalAccesses>& spills :
       {std::optional(LocalAccesses{.loads = 21, .stores = 25, .bytes = 184}),
        std::optional<LocalAccesses>()}) {
    kernel.local = spills;
    EXPECT_THAT(report(),
                testing::AllOf(
                    HasSubstr("what to do\n  Fewer registers are left out: the code spills already, or may"),
                    testing::Not(HasSubstr("32 registers per thread"))));
  }
  kernel.local = LocalAccesses();
  kernel.moves_registers = true;
  EXPECT_THAT(report(), testing::AllOf(HasSubstr("between its warps (setmaxnreg)"),
                                       testing::Not(HasSubstr("32 registers per thread"))));
}

TEST(DeviceCode, OfOneKernelAndABlockSizeSaysAllThatCalcDoes) {
  const std::vector<DeviceKernel> kernels = recorded();
  BinaryQuestion question;
  question.block_threads = 96;
  EXPECT_THAT(answer_binary(std::span(kernels).first(1), question, AnswerFormat::table),
              HasSubstr("what to do"));
  EXPECT_THAT(answer_binary(kernels, question, AnswerFormat::table), testing::Not(HasSubstr("what to do")));
  EXPECT_THAT(answer_binary(kernels, {}, AnswerFormat::table),
              HasSubstr("what to change: --kernel NAME --block-size N\n"));
}

TEST(DeviceCode, OfSourcePtxAndEmptyFilesSaysWhatToDo) {
  const TemporaryFolder folder;
  for (const char* const name : {"kernel.cu", "kernel.ptx"}) {
    const fs::path file = folder.path() / name;
    std::ofstream(file) << "// anything";
    EXPECT_THAT(message_of([&] { read_device_code(file, {}, std::cerr); }),
                HasSubstr("nvcc -arch=sm_90 -cubin"));
  }
  const fs::path empty = folder.path() / "empty.cubin";
  std::ofstream(empty) << "";
  EXPECT_THAT(message_of([&] { read_device_code(empty, {}, std::cerr); }), HasSubstr("is empty"));
}

TEST(Cubin, OfAnyBytesIsReadWithinItsBounds) {
  const std::string whole = read_text(kRecorded / "kernels.1.sm_80.cubin");
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 20; ++i) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    try {
      parse_cubin(damaged, "damaged");
    } catch (const InputError&) {
    }
  }
}

#ifdef OCCBENCH_NVCC
/// What ptxas -v says of an entry function.
struct Assembled {
  int registers = 0;
  int barriers = 0;
  int shared_bytes = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
};

std::map<std::string, Assembled> compile(const std::string& architecture, const std::string& cubin) {
  const std::string command =
      fmt::format("'{}' -arch={} -cubin -Xptxas -v -o '{}' '{}/tests/binary/kernels.cu' 2>&1", OCCBENCH_NVCC,
                  architecture, cubin, OCCBENCH_SOURCE_DIR);
  FILE* log = popen(command.c_str(), "r");
  std::map<std::string, Assembled> functions;
  Assembled* current = nullptr;
  char line[4096];
  while (fgets(line, sizeof line, log) != nullptr) {
    std::string name;
    if (RE2::PartialMatch(line, "Compiling entry function '(.*)' for", &name)) current = &functions[name];
    if (current == nullptr) continue;
    const auto read = [&](const char* pattern, int& number) { RE2::PartialMatch(line, pattern, &number); };
    // The lines of an entry function end with the registers; device functions may follow.
    read("([0-9]+) bytes stack frame", current->stack_bytes);
    read("([0-9]+) bytes spill stores", current->spill_store_bytes);
    read("([0-9]+) bytes spill loads", current->spill_load_bytes);
    read("used ([0-9]+) barriers", current->barriers);
    read("([0-9]+) bytes smem", current->shared_bytes);
    read("Used ([0-9]+) registers", current->registers);
    if (std::string_view(line).find("Used ") != std::string_view::npos) current = nullptr;
  }
  EXPECT_EQ(pclose(log), 0);
  return functions;
}

TEST(DeviceCode, OfAFreshBuildIsWhatTheAssemblerReports) {
  for (const std::string architecture : {"sm_80", "sm_90", "sm_120"}) {
    const TemporaryFolder folder;
    const fs::path cubin = folder.path() / "kernels.cubin";
    const std::map<std::string, Assembled> assembled = compile(architecture, cubin.string());
    ASSERT_EQ(assembled.size(), 6u);
    std::vector<DeviceKernel> kernels;
    try {
      std::ostringstream progress;
      kernels = read_device_code(cubin, {}, progress);
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
    EXPECT_EQ(kernels.size(), assembled.size());
    for (const DeviceKernel& kernel : kernels) {
      const Assembled& expected = assembled.at(kernel.symbol);
      EXPECT_EQ(kernel.architecture, architecture);
      EXPECT_EQ(kernel.usage.registers_per_thread, expected.registers) << kernel.symbol;
      EXPECT_EQ(kernel.usage.barriers, expected.barriers) << kernel.symbol;
      EXPECT_EQ(kernel.usage.static_shared_bytes, expected.shared_bytes) << kernel.symbol;
      EXPECT_EQ(kernel.stack_bytes, expected.stack_bytes) << kernel.symbol;
      EXPECT_EQ(kernel.local.value().bytes, expected.spill_store_bytes + expected.spill_load_bytes)
          << kernel.symbol;
    }
  }
}

/// Their code for 9.0, by name; none where there is no cuobjdump.
std::map<std::string, DeviceKernel> built(const std::string& options,
                                          std::initializer_list<const char*> sources) {
  const TemporaryFolder folder;
  std::string command =
      fmt::format("'{}' -arch=sm_90 {} -o '{}/built'", OCCBENCH_NVCC, options, folder.path().string());
  for (const char* source : sources) {
    const std::string file = fmt::format("{}/{}.cu", folder.path().string(), command.size());
    std::ofstream(file) << source;
    command += " " + file;
  }
  EXPECT_EQ(std::system((command + " 2>/dev/null").c_str()), 0);
  std::map<std::string, DeviceKernel> kernels;
  try {
    std::ostringstream remarks;
    for (const DeviceKernel& kernel : read_device_code(folder.path() / "built", {}, remarks))
      kernels[kernel.symbol] = kernel;
  } catch (const InputError&) {
  }
  return kernels;
}

TEST(DeviceCode, OfAFreshBuildHasNoLocalAccessesOnlyWhereThatIsKnown) {
  constexpr const char* kKernels = R"(
    __device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1) + 1; }
    extern "C" __global__ void recursive(int* x) { x[threadIdx.x] = factorial(x[0]); }
    extern "C" __global__ void indexed(int* x) {
      int a[32];
      for (int i = 0; i < 32; ++i) a[i] = x[i];
      for (int i = 0; i < x[32]; ++i) a[i * 7 & 31] += x[i];
      x[threadIdx.x] = a[x[33] & 31];
    })";
  std::map<std::string, DeviceKernel> kernels = built("-cubin", {kKernels});
  if (kernels.empty()) GTEST_SKIP() << "no cuobjdump";
  EXPECT_GT(kernels["recursive"].local.value().bytes, 0);
  EXPECT_FALSE(kernels["recursive"].stack_bytes);
  EXPECT_GT(kernels["indexed"].local.value().bytes, 0);
  EXPECT_EQ(kernels["indexed"].stack_bytes, 128);
  kernels = built("-cubin -G", {kKernels});
  EXPECT_FALSE(kernels["recursive"].local || kernels["recursive"].stack_bytes);
  EXPECT_FALSE(kernels["indexed"].local);
  kernels = built("-rdc=true", {R"(
    extern __device__ int indexed(int* x);
    extern __device__ int plain(int x);
    extern "C" __global__ void with_stack(int* x) { x[threadIdx.x] = indexed(x); }
    extern "C" __global__ void without(int* x) { x[threadIdx.x] = plain(x[0]); }
    int main() {})",
                                R"(
    __device__ int indexed(int* x) {
      int a[32];
      for (int i = 0; i < 32; ++i) a[i] = x[i];
      for (int i = 0; i < x[32]; ++i) a[i * 7 & 31] += x[i];
      return a[x[33] & 31];
    }
    __device__ int plain(int x) { return x + 1; })"});
  EXPECT_GE(kernels["with_stack"].stack_bytes, 128);
  EXPECT_FALSE(kernels["with_stack"].local);
  EXPECT_EQ(kernels["without"].local.value().bytes, 0);
}
#endif

// cuobjdump asks for the second quote of a name and ends a line at its end.
TEST(DeviceCode, IsReadFromAFileOfAnyName) {
  const TemporaryFolder folder;
  const RecordedCuobjdump cuobjdump;
  // As the real one ends: Stray '"' character.
  const std::string strict = folder.path() / "cuobjdump";
  std::ofstream(strict) << "#!/bin/sh\ncase \"$*\" in *\\\"*|*\\'*|*'\n'*) echo 'cuobjdump fatal   : stray "
                           "quote'; exit 1;; esac\n"
                        << "exec '" << (kRecorded / "cuobjdump").string() << "' \"$@\"\n";
  fs::permissions(strict, fs::perms::owner_all);
  ::setenv("PATH", (folder.path().string() + ":" + std::getenv("PATH")).c_str(), 1);
  std::ostringstream progress;
  const std::filesystem::path plain = folder.path() / "kernels.cubin";
  std::ofstream(plain) << "a file";
  const std::size_t kernels = read_device_code(plain, {}, progress).size();
  EXPECT_GT(kernels, 0u);
  for (const char* name : {"a\"b.cubin", "a\nb.cubin", "a'b.cubin"}) {
    std::filesystem::copy_file(plain, folder.path() / name);
    EXPECT_EQ(read_device_code(folder.path() / name, {}, progress).size(), kernels) << name;
  }
}

TEST(DeviceCode, IsRefusedWhereThereIsNone) {
  std::ostringstream progress;
  EXPECT_THROW(read_device_code("/no/such/file", {}, progress), InputError);
  EXPECT_EQ(run_command("calc --from /no/such/file").status, ExitStatus::usage);
  for (const std::string option : {"--registers", "--grid"})
    EXPECT_THAT(refusal("calc --from /no/such/file " + option + " 3"),
                HasSubstr(option + " does not go with --from: ask calc without --from, by the numbers"));
  // Without cuobjdump this names cuobjdump, with it the lack of device code.
  EXPECT_THROW(read_device_code("/proc/self/exe", {}, progress), InputError);
}

}  // namespace
}  // namespace occbench
