#include <deque>
#include <optional>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "harness/run.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;

/// Uneven blocks that all have room at once: which lie side by side is what counts.
Experiment uneven() {
  return one_case(kFake, [](Case& chosen) {
    chosen.launch = {.block_threads = 256, .grid_blocks = 792};
    chosen.work = parse_work("uniform:200000:0.5:1.5:seed=3");
  });
}

TEST_F(RunCases, ARowIsPredictedForTheGpcThatItsLaunchesBeganWith) {
  run(uneven());
  const Row any = read_rows(csv()).at(0);
  instruments_.first_gpcs = {0, 0};
  run(uneven());
  const Row known = read_rows(csv()).at(0);
  EXPECT_EQ(any.first_gpc, std::nullopt);
  EXPECT_EQ(known.first_gpc, 0);
  // All that is left is the least margin, on both sides.
  const double left = *known.predicted_high_pct - *known.predicted_low_pct;
  EXPECT_NEAR(left, 2 * kLeastMarginPoints, 0.01);
  EXPECT_GT(*any.predicted_high_pct - *any.predicted_low_pct, 1.5 * left);
}

TEST_F(RunCases, AGpcThatSomeOfTheLaunchesDidNotBeginWithIsNotTheRows) {
  run(uneven());
  const Row any = read_rows(csv()).at(0);
  for (const std::deque<std::optional<int>>& answers :
       {std::deque<std::optional<int>>{0, std::nullopt}, {std::nullopt, 0}}) {
    instruments_.first_gpcs = answers;
    run(uneven());
    const Row row = read_rows(csv()).at(0);
    EXPECT_EQ(row.first_gpc, std::nullopt);
    EXPECT_EQ(row.predicted_low_pct, any.predicted_low_pct);
    EXPECT_EQ(row.predicted_high_pct, any.predicted_high_pct);
  }
}

TEST_F(RunCases, WhatWasNotLaunchedBeganWithNoGpc) {
  instruments_.first_gpcs = {0, 0};
  run(experiment_of({kUnsupported}));
  EXPECT_EQ(read_rows(csv()).at(0).first_gpc, std::nullopt);
  run(experiment_of({kFailing}));
  EXPECT_EQ(read_rows(csv()).at(0).first_gpc, std::nullopt);
}

/// As a GPU that is newer than the limits table.
Device unknown_device() {
  Device device = fake_device();
  device.compute_capability = {99, 0};
  device.limits.compute_capability = device.compute_capability;
  return device;
}

TEST_F(RunCases, AGpuThatTheLimitsTableLacksIsPredictedForItsOwnLimits) {
  ASSERT_THROW(limits_of({99, 0}), InputError);
  device_ = unknown_device();
  device_.limits.max_warps_per_sm = 48;
  run(experiment_of({768}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.compute_capability, "99.0");
  EXPECT_DOUBLE_EQ(row.theoretical_pct.value(), 100) << "two blocks of 24 warps";
  EXPECT_EQ(row.device_profile, "generic (generic)");
  EXPECT_LE(row.predicted_pct.value(), 100);
  EXPECT_EQ(row.note, "");
}

TEST_F(RunCases, AGpuThatTheLimitsTableLacksIsExplainedByItsOwnLimits) {
  run(experiment_of({768}));
  const std::string known = read_rows(csv()).at(0).explanation;
  ASSERT_NE(known, "");
  device_ = unknown_device();
  run(experiment_of({768}));
  EXPECT_EQ(read_rows(csv()).at(0).explanation, known);
}

TEST_F(RunCases, WhyThereIsNoPredictionStandsBesideOtherNotes) {
  instruments_.status = CountersStatus::denied;
  instruments_.first_gpcs = {1000, 1000};  // of a device that has 8
  run(experiment_of({768}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_FALSE(row.predicted_pct);
  EXPECT_THAT(row.note, HasSubstr("because the test says so; no prediction: "));
  EXPECT_THAT(row.note, HasSubstr("1000"));
}

}  // namespace
}  // namespace occbench
