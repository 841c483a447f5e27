#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../record/packed_runs.hpp"
#include "gate/compare.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

const std::filesystem::path kSource = OCCBENCH_SOURCE_DIR;

std::string name_of(const Row& row) {
  return row.experiment + "/" + row.case_;
}

/// Smoke runs by GPU or by run.
using Runs = std::map<std::string, std::vector<Row>>;

Runs two_h200s() {
  Runs runs;
  for (Row& row : read_rows(kSource / "results/nvidia-h200/two_gpus_alone.csv"))
    runs[row.gpu_uuid].push_back(std::move(row));
  return runs;
}

/// Cases of both sides that the model's suite has from another GPU. Not the reductions: before them the runs emptied
/// L2 by writing, and a launch also had to write that back. The suites emptied it by reading.
struct OnAnotherGpu {
  RecordedRun suite{.source = "suite", .columns = {}, .cases = {}};
  RecordedRun run{.source = "other GPU", .columns = {}, .cases = {}};

  OnAnotherGpu(const std::vector<Row>& recorded, const std::vector<Row>& rows) {
    for (const Column& column : columns()) suite.columns.emplace_back(column.name);
    run.columns = suite.columns;
    std::map<std::string, const Row*> of_suite;
    for (const Row& row : recorded) of_suite[name_of(row)] = &row;
    for (const Row& row : rows) {
      if (row.experiment == "reductions") continue;
      const auto found = of_suite.find(name_of(row));
      if (found == of_suite.end() || found->second->gpu_uuid == row.gpu_uuid) continue;
      suite.cases.push_back({.row = *found->second});
      run.cases.push_back({.row = row});
    }
  }
};

void expect_no_regression(const std::string& model, const Runs& runs, std::size_t cases) {
  const std::vector<Row> recorded = read_rows(kSource / "results" / model / "full.csv");
  for (const auto& [name, rows] : runs) {
    OnAnotherGpu sides(recorded, rows);
    EXPECT_GE(sides.run.cases.size(), cases) << name;
    const Comparison comparison = compare(sides.suite, sides.run, {});
    for (const ComparedCase& each : comparison.cases) {
      for (const GateFinding& finding : each.findings)
        EXPECT_NE(finding.grade, Grade::regression)
            << name << " " << each.full_name() << " " << finding.message;
    }
    // A loss on that GPU would be found.
    for (RecordedCase& each : sides.run.cases) {
      for (Real* const value : {&each.row.achieved_pct, &each.row.achieved_elapsed_pct})
        if (*value) **value *= 0.9;
    }
    EXPECT_GT(compare(sides.suite, sides.run, {}).count(Verdict::regression), cases / 2) << name;
  }
}

TEST(Gate, FindsNoRegressionOnOtherH200sAgainstTheModelsRecordedSuite) {
  const Runs runs = two_h200s();
  EXPECT_EQ(runs.size(), 2);
  expect_no_regression("nvidia-h200", runs, 56);
}

TEST(Gate, FindsNoRegressionInTwentyRunsOfAThirdH200AgainstTheModelsRecordedSuite) {
  const Runs runs = packed_runs("fleet/h200_repeats.csv.gz");
  EXPECT_EQ(runs.size(), 20);
  // The forms of atomics are of this GPU in the suite.
  expect_no_regression("nvidia-h200", runs, 54);
}

TEST(Gate, FindsNoRegressionOnAnotherH100AgainstTheModelsRecordedSuite) {
  const Runs runs = packed_runs("fleet/h100_repeats.csv.gz");
  EXPECT_EQ(runs.size(), 12);
  expect_no_regression("nvidia-h100-80gb-hbm3", runs, 56);
}

TEST(Gate, FindsNoRegressionOnFiveMoreH100sAgainstTheModelsRecordedSuite) {
  const Runs runs = packed_runs("fleet/h100_gpus.csv.gz");
  std::set<std::string> gpus;
  for (const auto& [run, rows] : runs) gpus.insert(rows.front().gpu_uuid);
  EXPECT_EQ(runs.size(), 25);
  EXPECT_EQ(gpus.size(), 5);
  expect_no_regression("nvidia-h100-80gb-hbm3", runs, 54);
}

}  // namespace
}  // namespace occbench
