#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program_table.hpp"
#include "entries/entries.hpp"
#include "entries/entry_paths.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "in_a_child.hpp"
#include "programs/program.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kTorchTrace = R"({"schemaVersion": 1, "deviceProperties": [
  {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132}],
 "traceEvents": [
  {"ph": "X", "cat": "kernel", "name": "_Z6reducePKfPfi", "dur": 44.5, "args": {"device": 0, "stream": 7,
   "registers per thread": 40, "shared memory": 0, "grid": [1584, 1, 1], "block": [256, 1, 1],
   "est. achieved occupancy %": 75}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "dur": 90, "args": {"device": 0, "stream": 7,
   "registers per thread": 168, "shared memory": 229376, "grid": [132, 1, 1], "block": [384, 1, 1],
   "est. achieved occupancy %": 0}}]})";

class TraceCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("CUDA_INJECTION64_PATH");
    std::ofstream(trace_) << kTorchTrace;
  }
  Row row(std::string_view name) const {
    for (const Row& found : read_rows(out_)) {
      if (found.case_.starts_with(name)) return found;
    }
    ADD_FAILURE() << "no row " << name;
    return {};
  }
  TemporaryFolder folder_;
  std::string out_ = folder_.path() / "run.csv";
  std::string trace_ = folder_.path() / "t.json";
};

TEST_F(TraceCommandTest, ImportsATraceOfPyTorchWithTheoryPredictionAndWhereItsEstimateIsWrong) {
  const Outcome outcome = run_command({"trace", "--import", trace_.c_str(), "--out", out_.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.err, HasSubstr("1980 MHz, the GPU's highest"));
  EXPECT_THAT(outcome.err, HasSubstr("of 1 launch is 0, which is wrong"));
  const Row reduce = row("reduce");
  EXPECT_EQ(reduce.theoretical_pct, 75);
  EXPECT_EQ(reduce.work_source, "inferred from time");
  ASSERT_TRUE(reduce.predicted_pct);
  EXPECT_NEAR(*reduce.predicted_pct, 74, 2);
  EXPECT_EQ(reduce.sm_clock_mhz, 1980);
  EXPECT_THAT(reduce.note, HasSubstr("highest"));
  EXPECT_THAT(row("gemm").note, HasSubstr("48 KB"));
  EXPECT_THAT(outcome.out, HasSubstr("reduce<<<1584, 256>>>"));
  EXPECT_EQ(read_samples(samples_path(out_)).size(), 2);
}

TEST_F(TraceCommandTest, ImportsOnlyTheKernelsThatAreWantedWithTheClockThatIsGiven) {
  const Outcome outcome = run_command({"trace", "--import", trace_.c_str(), "--clock-mhz", "1500",
                                       "--kernels", "^gemm", "--out", out_.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  ASSERT_EQ(read_rows(out_).size(), 1);
  EXPECT_EQ(row("gemm").sm_clock_mhz, 1500);
  EXPECT_EQ(run_command({"trace", "--import", trace_.c_str(), "--kernels", "nothing", "--out", out_.c_str()})
                .status,
            ExitStatus::usage);
}

TEST_F(TraceCommandTest, TracesOfTwoRanksAreRowsOfTwoGpusWhenTheyAreMerged) {
  const std::string other = folder_.path() / "rank1" / "t.json";  // as each rank names its own
  const std::string rows = folder_.path() / "rank1.csv";
  fs::create_directory(folder_.path() / "rank1");
  const std::string all = folder_.path() / "all.csv";
  std::ofstream(other) << kTorchTrace;
  run_command({"trace", "--import", trace_.c_str(), "--out", out_.c_str()});
  run_command({"trace", "--import", other.c_str(), "--out", rows.c_str()});
  const Outcome merged = run_command({"merge", out_.c_str(), rows.c_str(), "--out", all.c_str()});
  EXPECT_EQ(merged.status, ExitStatus::done) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("4 rows of 2 GPUs and 2 cases from 2 files"));
  EXPECT_EQ(read_rows(rows).front().host, "rank1/t.json");
  EXPECT_THAT(read_rows(rows).front().note, StartsWith("imported from rank1/t.json"));
  EXPECT_THAT(run_command({"fleet", out_.c_str(), out_.c_str()}).err,
              HasSubstr("imported traces go by folder and file: rename them"));
}

TEST_F(TraceCommandTest, AFileInTheFolderWhereItRunsIsOfThatFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  run_command({"trace", "--import", "t.json", "--out", out_.c_str()});
  fs::current_path(before);
  EXPECT_EQ(read_rows(out_).front().host, folder_.path().filename() / "t.json");
}

TEST_F(TraceCommandTest, RowsThatItInferredAreExplainedAsTheyWerePredicted) {
  run_command({"trace", "--import", trace_.c_str(), "--out", out_.c_str()});
  std::vector<Row> rows = read_rows(out_);
  ASSERT_EQ(rows.size(), 2);
  for (Row& counted : rows) counted.achieved_pct = 50;
  std::ofstream(out_) << csv_header() << csv_record(rows[0]) << csv_record(rows[1]);
  const std::vector<Row> explained =
      parse_rows(printed({"explain", "--format", "csv", out_.c_str()}), "explained");
  ASSERT_EQ(explained.size(), 2);
  for (const Row& now : explained) {
    const Row& before = now.case_ == rows[0].case_ ? rows[0] : rows[1];
    EXPECT_NEAR(*now.predicted_pct, *before.predicted_pct, 1e-3);
  }
}

TEST_F(TraceCommandTest, PrintsAnyNameOnOneLineAndCutsItBetweenCharacters) {
  std::string letters;
  for (int i = 0; i < 21; ++i) letters += "ü";
  std::string text = kTorchTrace;
  text.replace(text.find("_Z6reducePKfPfi"), 15, R"(two\nlines)");
  text.replace(text.find("gemm"), 4, "[" + letters + letters + "]");
  std::ofstream(trace_) << text;
  const std::string said = printed({"trace", "--import", trace_.c_str(), "--out", out_.c_str()});
  EXPECT_THAT(said, HasSubstr("  two lines<<<1584, 256>>>" + std::string(20, ' ') + "  "));
  EXPECT_THAT(said, HasSubstr("  [" + letters + "…<<132, 384, 229376>>>  "));
  EXPECT_THAT(printed({"explain", out_.c_str()}), HasSubstr("trace/two lines<<<1584, 256>>>\n"));
}

TEST_F(TraceCommandTest, KeepsTheRowsThatItsFileHas) {
  const auto import = [&] {
    return run_command({"trace", "--import", trace_.c_str(), "--out", out_.c_str()});
  };
  EXPECT_THAT(import().err, Not(HasSubstr("is kept as")));
  const std::string before = read_text(out_);
  const std::string said = import().err;
  const std::size_t from = said.find("is kept as ") + 11;
  EXPECT_EQ(read_text(said.substr(from, said.find(';', from) - from)), before);
}

TEST_F(TraceCommandTest, LeavesRowsWhereTheyAreUntilSomethingRuns) {
  ASSERT_EQ(run_command({"trace", "--import", trace_.c_str(), "--out", out_.c_str()}).status,
            ExitStatus::done);
  const std::string before = read_text(out_);
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {"trace", "--out", out_.c_str(), "--", "/nonexistent/program"},
           {"trace", "--out", out_.c_str(), "--counters", "some", "--", "true"},
           {"trace", "--out", out_.c_str(), "--import", "/nonexistent.json"},
           {"trace", "--out", out_.c_str(), "--import", trace_.c_str(), "--kernels", "^no_such_kernel"}}) {
    EXPECT_EQ(run_command(arguments).status, ExitStatus::usage) << arguments.back();
    EXPECT_EQ(read_text(out_), before) << arguments.back();
  }
  // What this command did not launch is not said to be its rows.
  EXPECT_THAT(run_command({"trace", "--out", out_.c_str(), "--", "true"}).err, HasSubstr("is kept as"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(TraceCommandTest, LeavesOlderRowsWhereTheyAreUntilItsOwnAreWhole) {
  const std::vector<std::string> import = {"trace", "--import", trace_, "--out", out_};
  ASSERT_EQ(run_command(import).status, ExitStatus::done);
  const std::string before = read_text(out_);
  EXPECT_TRUE(in_a_child([&] {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    ::signal(SIGXFSZ, SIG_IGN);
    return run_command(import).status == ExitStatus::usage;
  }));
  EXPECT_EQ(read_text(out_), before);
  EXPECT_THAT(run_command(import).err, HasSubstr("is kept as"));
}

TEST_F(TraceCommandTest, RefusesToWriteRowsOverTheTraceThatItImports) {
  EXPECT_THAT(refusal({"trace", "--import", trace_.c_str(), "--out", trace_.c_str()}),
              HasSubstr("is a file that is read; name another file"));
  EXPECT_EQ(read_text(trace_), kTorchTrace);
}

TEST_F(TraceCommandTest, RefusesATimelineInThePlaceOfAFileOfAnotherKind) {
  EXPECT_THAT(refusal({"trace", "--counters", "sampled", "--timeline", trace_.c_str(), "--out", out_.c_str(),
                       "--", "true"}),
              HasSubstr("a file of another kind is there already"));
  EXPECT_EQ(read_text(trace_), kTorchTrace);
}

TEST_F(TraceCommandTest, LeavesOtherTracersTheirInjection) {
  const fs::path tool = folder_.path() / "ncu";
  std::ofstream(tool) << "#!/bin/sh\necho \"<$CUDA_INJECTION64_PATH>\" > "
                      << (folder_.path() / "said").string() << "\n";
  fs::permissions(tool, fs::perms::owner_all);
  const Outcome outcome = run_command({"trace", "--out", out_.c_str(), "--", tool.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.err, HasSubstr("ncu injects a library of its own"));
  EXPECT_EQ(read_text(folder_.path() / "said"), "<>\n");
}

TEST_F(TraceCommandTest, PassesOnTheStatusOfTheCommand) {
  EXPECT_EQ(static_cast<int>(run_command({"trace", "--out", out_.c_str(), "--", "true"}).status), 0);
  EXPECT_EQ(
      static_cast<int>(run_command({"trace", "--out", out_.c_str(), "--", "sh", "-c", "exit 7"}).status), 7);
  const Outcome killed = run_command({"trace", "--out", out_.c_str(), "--", "sh", "-c", "kill -9 $$"});
  EXPECT_EQ(static_cast<int>(killed.status), 128 + SIGKILL);
  EXPECT_THAT(killed.err, HasSubstr("signal 9"));
}

TEST_F(TraceCommandTest, HandsOverTheCommandsWordsAsTheyWereTyped) {
  const std::string file = folder_.path() / "said";
  const std::string script = "printf '<%s>' \"$@\" > " + file;
  run_command({"trace", "--out", out_.c_str(), "--", "bash", "-c", script.c_str(), "_",   "[1,2]", "a b",
               "",      "[]",    "{}",         "%%", "-",    "--", "--device",     "all", "--out", "-a"});
  EXPECT_EQ(read_text(file), "<[1,2]><a b><><[]><{}><%%><-><--><--device><all><--out><-a>");
}

TEST_F(TraceCommandTest, RefusesACommandThatDoesNotStandBehindTwoDashes) {
  const std::string said = refusal({"trace", "--out", out_.c_str(), "true", "x"});
  EXPECT_THAT(said, HasSubstr("'true'"));
  EXPECT_THAT(said, HasSubstr("behind --"));
}

TEST_F(TraceCommandTest, RefusesACommandThatDoesNotExist) {
  EXPECT_THAT(refusal({"trace", "--out", out_.c_str(), "--", "/nonexistent/program"}),
              HasSubstr("cannot run '/nonexistent/program': No such file"));
}

TEST_F(TraceCommandTest, RefusesWhatCannotBe) {
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {"trace"},
           {"trace", "--import", trace_.c_str(), "--", "true"},
           {"trace", "--merge"},
           {"trace", "--counters", "0", "--", "true"},
           {"trace", "--timeline", "t.json", "--counters", "2", "--", "true"},
           {"trace", "--timeline", "/dev/null", "--", "true"},
           {"trace", "--after", "-1", "--", "true"},
           {"trace", "--kernels", "(", "--", "true"},
           {"trace", "--top", "-1", "--", "true"},
           {"trace", "--clock-mhz", "1500", "--", "true"},
           {"trace", "--counters", "9", "--import", trace_.c_str()},
           {"trace", "--after", "9", "--import", trace_.c_str()}}) {
    EXPECT_EQ(run_command(arguments).status, ExitStatus::usage) << arguments.back();
  }
}

TEST_F(TraceCommandTest, RefusesAProfileThatIsNoneBeforeTheCommandRuns) {
  const std::string file = folder_.path() / "ran";
  EXPECT_THAT(refusal({"trace", "--profile", "nonsense", "--out", out_.c_str(), "--", "touch", file.c_str()}),
              HasSubstr("nonsense"));
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(TraceCommandTest, RunsTheCommandUntracedWhereAnotherLibraryIsInjected) {
  ::setenv("CUDA_INJECTION64_PATH", "/opt/ncu/lib.so", 1);
  const std::string file = folder_.path() / "said";
  const std::string script = "echo $CUDA_INJECTION64_PATH > " + file + "; exit 3";
  const Outcome outcome = run_command({"trace", "--out", out_.c_str(), "--", "sh", "-c", script.c_str()});
  EXPECT_EQ(static_cast<int>(outcome.status), 3);
  EXPECT_THAT(outcome.err, HasSubstr("already set to /opt/ncu/lib.so"));
  EXPECT_EQ(read_text(file), "/opt/ncu/lib.so\n");
  ::unsetenv("CUDA_INJECTION64_PATH");
}

/// The file of a process that launched one kernel ten times, each in 45 us, and could not count.
/// @param region of the launches; empty = they are not told apart by it
fs::path launched(const fs::path& out, int process, std::string_view uuid = "GPU-11111111-1",
                  std::string_view region = "") {
  DeviceFacts device{9, 0, 132, 1'980'000, 2048, 0, {}, {}};
  uuid.copy(device.uuid.data(), uuid.size());
  std::string("NVIDIA H100").copy(device.name.data(), device.name.size());
  const KernelFacts kernel{.grid = {1584, 1, 1},
                           .block = {256, 1, 1},
                           .registers_per_thread = 40,
                           .region = region.empty() ? 0u : 2u};
  const LaunchTotals totals{.launched = 10, .recorded = 10, .timed = 10, .total_ns = 450'000};
  const std::vector<float> ns = {44'000, 46'000};
  std::string entries;
  append_facts(entries, EntryKind::process, 0, ProcessFacts{process, 1});
  append_facts(entries, EntryKind::device, 0, device);
  append_cut_text(entries, EntryKind::counting, 0, static_cast<std::uint32_t>(CountersStatus::denied),
                  "not allowed");
  append_text(entries, EntryKind::name, 0, "_Z6reducePKfPfi");
  append_text(entries, EntryKind::name, 1, region);
  append_facts(entries, EntryKind::kernel, 0, kernel);
  append_facts(entries, EntryKind::totals, 0, totals);
  append_entry(entries, EntryKind::times, 0, 0, std::as_bytes(std::span(ns)));
  const fs::path file = make_entry_file(out, process);
  std::ofstream(file, std::ios::app | std::ios::binary) << entries;
  return file;
}

TEST_F(TraceCommandTest, MergesWhatTheProcessesWrote) {
  launched(out_, 41);
  launched(out_, 42);
  launched(out_, 43, "GPU-22222222-2");
  const Outcome outcome = run_command({"trace", "--merge", "--out", out_.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  ASSERT_EQ(read_rows(out_).size(), 2);
  const Row both = row("reduce<<<1584, 256>>> on GPU-11111111");
  EXPECT_EQ(both.launches, 20);
  EXPECT_THAT(both.origin, ::testing::StartsWith("process=41+42;"));
  EXPECT_EQ(both.counters_status, "denied");
  EXPECT_EQ(both.work_source, "inferred from time");
  // They may still be written to.
  EXPECT_EQ(entry_files(out_).size(), 3);
}

TEST_F(TraceCommandTest, HasARowForEachRegionAndKernelAndALineForEachRegion) {
  launched(out_, 41, "GPU-11111111-1", "forward");
  launched(out_, 42, "GPU-11111111-1", "forward");
  launched(out_, 43, "GPU-11111111-1", "backward");
  const std::string said = printed({"trace", "--merge", "--out", out_.c_str()});
  ASSERT_EQ(read_rows(out_).size(), 2);
  EXPECT_EQ(row("reduce<<<1584, 256>>> in forward").launches, 20);
  EXPECT_EQ(row("reduce<<<1584, 256>>> in backward").region, "backward");
  const auto line_of = [&](std::string_view region) {
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
      if (all.size() > 6 && all[6] == region) return all;
    }
    return std::vector<std::string>(7);
  };
  EXPECT_EQ(line_of("forward")[0], "0.900");
  EXPECT_EQ(line_of("forward")[1], "66.7");
  EXPECT_EQ(line_of("backward")[2], "10");
}

TEST_F(TraceCommandTest, SaysThatARegionsNameHasAnEmptyPart) {
  for (const char* name : {"/forward", "step/", "step//forward"}) {
    const Outcome outcome = run_command({"trace", "--only", name, "--out", out_.c_str(), "--", "true"});
    EXPECT_EQ(outcome.status, ExitStatus::usage) << name;
    EXPECT_THAT(outcome.err, HasSubstr(name));
  }
}

TEST_F(TraceCommandTest, MergesWhatIsWholeOfTheFileOfAProcessThatWasKilled) {
  launched(out_, 41);
  std::ofstream(launched(out_, 42), std::ios::app | std::ios::binary) << std::string("\x48\0\0\0torn", 8);
  const Outcome outcome = run_command({"trace", "--merge", "--out", out_.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_EQ(row("reduce").launches, 20);
  EXPECT_EQ(row("reduce").counters_status, "denied");
}

TEST_F(TraceCommandTest, SaysThatThereIsNothingToMerge) {
  EXPECT_THAT(refusal({"trace", "--merge", "--out", out_.c_str()}), HasSubstr("run.PID.entries"));
}

TEST_F(TraceCommandTest, KeepsAFileNamedSoThatIsOfNoProcess) {
  const std::string file = folder_.path() / "run.42.entries";
  const std::string script = "echo mine > " + file;
  run_command({"trace", "--out", out_.c_str(), "--", "sh", "-c", script.c_str()});
  EXPECT_EQ(read_text(file), "mine\n");
}

TEST_F(TraceCommandTest, KeepsTheRowsOfAnEarlierTraceThatWasCutOff) {
  run_command({"trace", "--import", trace_.c_str(), "--out", out_.c_str()});
  launched(out_, 41);
  const Outcome outcome = run_command({"trace", "--out", out_.c_str(), "--", "true"});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_TRUE(entry_files(out_).empty());
  EXPECT_FALSE(fs::exists(out_)) << "this command has no rows";
  std::vector<std::size_t> kept;
  for (std::size_t at = 0; (at = outcome.err.find("is kept as ", at)) != std::string::npos;) {
    at += 11;
    kept.push_back(read_rows(outcome.err.substr(at, outcome.err.find(';', at) - at)).size());
  }
  EXPECT_THAT(kept, testing::ElementsAre(2, 1));
}

TEST(ProgramTable, IsInOrderOfWhatTheFindingsRemedyCanSave) {
  const auto cases =
      read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/training.csv");
  std::ostringstream table;
  print_program(cases, 0, table);
  std::istringstream lines(table.str());
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, StartsWith("max saved ms"));
  double before = 1e300;
  std::size_t rows = 0;
  for (; rows < cases.size() && std::getline(lines, line); ++rows) {
    EXPECT_LE(line.size(), 170U) << line;
    const double saved = std::stod(line);
    EXPECT_LE(saved, before);
    before = saved;
  }
  EXPECT_EQ(rows, cases.size());
  EXPECT_EQ(before, 0) << "some kernels are of libraries that chose their theory, or saturate the SM";
  // Theory of this kernel is 25 %, which its caller cannot change.
  EXPECT_THAT(table.str(), ContainsRegex("5x1x76, 64, 1024>>> +16 points small_grid .cuDNN"));
}

/// docs/any-program.md shows the first lines of a recorded program's table, each cut before "...".
TEST(ProgramTable, IsThatOfThePage) {
  const auto cases =
      read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/sample.csv");
  std::stringstream printed;
  print_program(cases, 5, printed);
  const std::string page = read_text(OCCBENCH_SOURCE_DIR "/docs/any-program.md");
  std::istringstream shown(page.substr(page.find("max saved ms")));
  std::string line;
  int lines = 0;
  for (std::string wanted; std::getline(shown, wanted) && wanted != "```"; ++lines) {
    ASSERT_TRUE(std::getline(printed, line));
    if (wanted.ends_with(" ...")) wanted.resize(wanted.size() - 4);
    EXPECT_THAT(line, StartsWith(wanted));
  }
  EXPECT_EQ(lines, 6);
}

}  // namespace
}  // namespace occbench
