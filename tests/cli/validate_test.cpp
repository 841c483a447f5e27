#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Row drawn(const char* kind, double achieved_pct, double predicted_pct) {
  Row row;
  row.schema = kSchema;
  row.experiment = "validation";
  row.parameters = fmt::format("kind={};number=1", kind);
  row.gpu = "NVIDIA H200";
  row.compute_capability = "9.0";
  row.sm_count = 132;
  row.block_threads = 256;
  row.grid_blocks = 1056;
  row.registers_per_thread = 20;
  row.work = "equal:200000";
  row.device_profile = "unit";
  row.theoretical_pct = 100;
  row.achieved_pct = achieved_pct;
  for (const Column& column : columns()) {
    if (column.name.starts_with("predicted_") || column.name.starts_with("loss_")) set_cell(row, column, "0");
  }
  row.predicted_pct = predicted_pct;
  row.predicted_low_pct = std::max(0.0, predicted_pct - 2);
  row.predicted_high_pct = predicted_pct + 2;
  row.sm_cycles_active_avg = 1000;
  row.predicted_cycles_active = 1020;
  return row;
}

class Validate : public testing::Test {
 protected:
  std::string write(std::initializer_list<Row> rows) const {
    const std::filesystem::path path = folder_.path() / "rows.csv";
    std::ofstream file(path);
    file << csv_header();
    for (const Row& row : rows) file << csv_record(row);
    return path.string();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Validate, SaysHowFarPredictionsOfEachKindAreOff) {
  Row without = drawn("short", 50, 0);
  without.predicted_pct.reset();
  const std::string file =
      write({drawn("blocks", 90, 91), drawn("blocks", 80, 77), drawn("warps", 70, 70), without});
  const Outcome outcome = run_command({"validate", "--rows", file.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("NVIDIA H200, predicted with the profile unit"));
  // Launches, theory's mean, predictions' mean, median and 95th percentile, counters in the interval, its width,
  // active cycles.
  EXPECT_THAT(outcome.out, ContainsRegex("blocks +2 +15.00 +2.00 +2.00 +2.90 +50 % +4.00 +2.00 %"));
  EXPECT_THAT(outcome.out, ContainsRegex("warps +1 +30.00 +0.00 +0.00 +0.00 +100 % +4.00 +2.00 %"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("short")));
}

TEST_F(Validate, PredictsAnewWithAnotherProfile) {
  const std::string file = write({drawn("blocks", 99.8, 50)});
  const Outcome outcome = run_command({"validate", "--profile", "h200", "--rows", file.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("predicted with the profile h200"));
  EXPECT_THAT(outcome.out, ContainsRegex("blocks +1 +0.20 +0.[01]"));
}

TEST_F(Validate, NeedsRowsWithAPredictionAndACountersValue) {
  Row row = drawn("blocks", 0, 0);
  row.achieved_pct.reset();
  const std::string file = write({row});
  const Outcome outcome = run_command({"validate", "--rows", file.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("has no row with a prediction and a counter's value"));
}

TEST_F(Validate, MixesNoRowsWithThoseOfAnotherRun) {
  const std::string file = write({drawn("blocks", 90, 91)});
  const Outcome outcome = run_command({"validate", "--out", file.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("exists"));
}

}  // namespace
}  // namespace occbench
