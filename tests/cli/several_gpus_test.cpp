#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/devices.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kRehearsedRows = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/full.csv";

TEST(SeveralGpus, ACommandThatMeasuresRefusesAWrongListBeforeItMeasures) {
  for (const auto& arguments :
       std::vector<std::vector<const char*>>{{"run", "--rehearse", kRehearsedRows.c_str(), "--device", "0,0"},
                                             {"calibrate", "--device", "0,0"},
                                             {"validate", "--device", "0,0"},
                                             {"trace", "--device", "0,0", "--", "true"}}) {
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr("--device 0,0: GPU 0 stands there twice")) << arguments[0];
  }
}

/// The program itself, whose rows are predicted.
class RehearsedOnEachGpu : public ::testing::Test {
 protected:
  Ending occbench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "--rehearse", kRehearsedRows, "--filter", "^waves/"});
    fs::remove(said_);
    return ChildProcess(ProgramStart{OCCBENCH_PROGRAM, arguments, said_}).wait();
  }
  std::set<std::string> gpus() const {
    std::set<std::string> all;
    for (const Row& row : read_rows(rows_)) all.insert(row.gpu_uuid.substr(row.gpu_uuid.rfind('-')));
    return all;
  }

  TemporaryFolder folder_;
  fs::path said_ = folder_.path() / "said";
  fs::path rows_ = folder_.path() / "rows.csv";
};

TEST_F(RehearsedOnEachGpu, EveryGpuHasTheRowsOfItsSingleRun) {
  EXPECT_EQ(occbench({"--device", "0,2", "--out", rows_}), Ending{}) << read_text(said_);
  EXPECT_THAT(gpus(), UnorderedElementsAre("-0", "-2"));
  const fs::path single = folder_.path() / "single.csv";
  occbench({"--device", "2", "--out", single});
  std::vector<Row> merged = read_rows(rows_);
  std::erase_if(merged, [](const Row& row) { return !row.gpu_uuid.ends_with("-2"); });
  const std::vector<Row> alone = read_rows(single);
  ASSERT_EQ(merged.size(), alone.size());
  ASSERT_FALSE(alone.empty());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    merged[i].recorded_at = alone[i].recorded_at;
    EXPECT_EQ(csv_record(merged[i]), csv_record(alone[i]));
  }
}

/// As a rebuild in the middle of a run does.
TEST_F(RehearsedOnEachGpu, TheProgramMayBeDeletedMeanwhile) {
  const fs::path program = folder_.path() / "occbench";
  fs::copy_file(OCCBENCH_PROGRAM, program);
  const std::vector<std::string> arguments = {"run",     "--rehearse", kRehearsedRows, "--filter",
                                              "^waves/", "--device",   "0,1",          "--one-after-another",
                                              "--out",   rows_};
  ChildProcess process(ProgramStart{program, arguments, said_});
  fs::remove(program);
  EXPECT_EQ(process.wait(), Ending{}) << read_text(said_);
  EXPECT_THAT(gpus(), UnorderedElementsAre("-0", "-1"));
}

TEST_F(RehearsedOnEachGpu, OneThatWasCutOffIsResumed) {
  occbench({"--device", "0,1", "--out", rows_});
  const std::string whole = read_text(rows_);
  const fs::path cut = file_of_gpu(rows_, 1);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  fs::remove(rows_);
  EXPECT_EQ(occbench({"--device", "0,1", "--one-after-another", "--resume", "--out", rows_}), Ending{});
  EXPECT_EQ(read_rows(rows_).size(), parse_rows(whole, "before").size());
}

TEST_F(RehearsedOnEachGpu, CasesAreListedOnce) {
  EXPECT_EQ(occbench({"--device", "0,1", "--list"}), Ending{});
  const std::string several = read_text(said_);
  occbench({"--device", "0", "--list"});
  EXPECT_EQ(several, read_text(said_));
}

TEST_F(RehearsedOnEachGpu, AllNeedsNumbersInstead) {
  EXPECT_EQ(occbench({"--device", "all", "--out", rows_}), (Ending{.status = 64}));
  EXPECT_THAT(read_text(said_), HasSubstr("name numbers"));
}

}  // namespace
}  // namespace occbench
