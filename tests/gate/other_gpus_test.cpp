#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../record/packed_runs.hpp"
#include "gate/compare.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

const std::filesystem::path kSource = OCCBENCH_SOURCE_DIR;

RecordedRun run_of(const std::vector<Row>& rows, const RecordedRun& like) {
  RecordedRun run{.source = "other GPU", .columns = like.columns, .cases = {}};
  for (const Row& row : rows) run.cases.push_back({.row = row, .times_us = {}});
  return run;
}

/// Of the model's recorded suite the cases of these rows.
RecordedRun cases_of(const RecordedRun& suite, const std::vector<Row>& rows) {
  std::set<std::string> wanted;
  for (const Row& row : rows) wanted.insert(row.experiment + "/" + row.case_);
  RecordedRun chosen = suite;
  std::erase_if(chosen.cases, [&](const RecordedCase& each) {
    return !wanted.contains(each.row.experiment + "/" + each.row.case_);
  });
  return chosen;
}

/// Smoke runs by GPU or by run.
using Runs = std::map<std::string, std::vector<Row>>;

Runs two_h200s() {
  Runs runs;
  for (Row& row : read_rows(kSource / "results/nvidia-h200/two_gpus_alone.csv")) {
    // Their grids have been made smaller since the suite was recorded.
    if (row.experiment != "atomic_forms") runs[row.gpu_uuid].push_back(std::move(row));
  }
  return runs;
}

void expect_no_regression(const std::string& model, const Runs& runs, std::size_t cases) {
  RecordedRun suite{.source = model, .columns = {}, .cases = {}};
  for (const Column& column : columns()) suite.columns.emplace_back(column.name);
  for (Row& row : read_rows(kSource / "results" / model / "full.csv"))
    suite.cases.push_back({.row = std::move(row), .times_us = {}});
  for (const auto& [name, rows] : runs) {
    ASSERT_EQ(rows.size(), cases) << name;
    const RecordedRun baseline = cases_of(suite, rows);
    ASSERT_EQ(baseline.cases.size(), cases) << name;
    ASSERT_NE(baseline.cases.front().row.gpu_uuid, rows.front().gpu_uuid);
    RecordedRun run = run_of(rows, baseline);
    const Comparison comparison = compare(baseline, run, {});
    for (const ComparedCase& each : comparison.cases) {
      for (const GateFinding& finding : each.findings)
        EXPECT_NE(finding.grade, Grade::regression)
            << name << " " << each.full_name() << " " << finding.message;
    }
    // A loss on that GPU would be found.
    for (RecordedCase& each : run.cases) {
      for (Real* const value : {&each.row.achieved_pct, &each.row.achieved_elapsed_pct})
        if (*value) **value *= 0.9;
    }
    EXPECT_GT(compare(baseline, run, {}).count(Verdict::regression), cases / 2) << name;
  }
}

TEST(Gate, FindsNoRegressionOnOtherH200sAgainstTheModelsRecordedSuite) {
  const Runs runs = two_h200s();
  EXPECT_EQ(runs.size(), 2);
  expect_no_regression("nvidia-h200", runs, 57);
}

TEST(Gate, FindsNoRegressionOnAnotherH100AgainstTheModelsRecordedSuite) {
  const Runs runs = packed_runs("fleet/h100_repeats.csv.gz");
  EXPECT_EQ(runs.size(), 12);
  expect_no_regression("nvidia-h100-80gb-hbm3", runs, 59);
}

TEST(Gate, FindsNoRegressionOnFourMoreH100sAgainstTheModelsRecordedSuite) {
  const Runs runs = packed_runs("fleet/h100_gpus.csv.gz");
  std::set<std::string> gpus;
  for (const auto& [run, rows] : runs) gpus.insert(rows.front().gpu_uuid);
  EXPECT_EQ(runs.size(), 24);
  EXPECT_EQ(gpus.size(), 4);
  expect_no_regression("nvidia-h100-80gb-hbm3", runs, 58);
}

}  // namespace
}  // namespace occbench
