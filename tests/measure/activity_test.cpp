#include "measure/activity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kSlots = 100;

/// A sample of 1 us at 1000 MHz, `warps` resident on average in its `active` part, which counts in SM cycles.
ActivitySample sample(std::uint64_t start_ns, double warps, double active = 1) {
  return {start_ns, start_ns + 1000, warps * active * 1000, active * 1000, 1000};
}

ActivitySamples launch_of(std::vector<ActivitySample> samples) {
  // What the hardware gives first spans all that was before.
  samples.insert(samples.begin(), ActivitySample{0, 10'000, 500, 10, 10'000});
  return {std::move(samples), {}};
}

TEST(Activity, TimeBeginsWithTheFirstWarpAndEndsWithTheLast) {
  // Warps from 12.75 us to 15.5 us: a quarter of the first sample, half of the last.
  const Activity activity =
      activity_of(launch_of({sample(11'000, 0), sample(12'000, 40, 0.25), sample(13'000, 100),
                             sample(14'000, 80), sample(15'000, 60, 0.5), sample(16'000, 0)}),
                  kSlots);
  ASSERT_EQ(activity.steps.size(), 4U);
  EXPECT_DOUBLE_EQ(activity.steps[0].start_us, 0);
  EXPECT_DOUBLE_EQ(activity.steps[0].end_us, 0.25);
  EXPECT_DOUBLE_EQ(activity.steps[3].start_us, 2.25);
  EXPECT_DOUBLE_EQ(activity.duration_us(), 2.75);
  EXPECT_THAT(activity.losses, IsEmpty());
}

TEST(Activity, AStepHasTheMeanOfTheTimeInWhichTheLaunchRan) {
  const Activity activity = activity_of(
      launch_of({sample(12'000, 40, 0.25), sample(13'000, 100), sample(14'000, 60, 0.5)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 3U);
  EXPECT_NEAR(activity.steps[0].active_warps_pct.value(), 40, 1e-9);
  EXPECT_NEAR(activity.steps[1].active_warps_pct.value(), 100, 1e-9);
  EXPECT_NEAR(activity.steps[2].active_warps_pct.value(), 60, 1e-9);
  EXPECT_NEAR(activity.mean_pct(), (0.25 * 40 + 100 + 0.5 * 60) / 1.75, 1e-9);
  EXPECT_NEAR(activity.sm_clock_mhz, 1000, 1e-9);
}

TEST(Activity, AnIdleMomentWithinTheLaunchIsPartOfIt) {
  const Activity activity =
      activity_of(launch_of({sample(12'000, 50), sample(13'000, 0), sample(14'000, 50)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 3U);
  EXPECT_DOUBLE_EQ(activity.steps[1].active_warps_pct.value(), 0);
}

TEST(Activity, ALaunchWithinOneSampleIsOneStepAsLongAsItsLongestSmWasActive) {
  const Activity activity = activity_of(launch_of({sample(12'000, 30, 0.4), sample(13'000, 0)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(activity.duration_us(), 0.4);
  EXPECT_NEAR(activity.steps[0].active_warps_pct.value(), 30, 1e-9);
}

TEST(Activity, ASampleThatIsMissingLeavesAnEmptyStepAndIsTold) {
  const Activity activity = activity_of(launch_of({sample(12'000, 50), sample(15'000, 50)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 3U);
  EXPECT_FALSE(activity.steps[1].active_warps_pct);
  EXPECT_DOUBLE_EQ(activity.steps[1].end_us - activity.steps[1].start_us, 2);
  EXPECT_NEAR(activity.mean_pct(), 50, 1e-9);
  EXPECT_THAT(activity.losses, ElementsAre(HasSubstr("2.0 of 4.0 us are missing")));
}

TEST(Activity, WithoutAnySampleOfTheLaunchThereIsNothingAndItIsTold) {
  for (const ActivitySamples& samples : {ActivitySamples{}, launch_of({sample(12'000, 0)})}) {
    const Activity activity = activity_of(samples, kSlots);
    EXPECT_THAT(activity.steps, IsEmpty());
    EXPECT_THAT(activity.losses, ElementsAre(HasSubstr("no sample saw a warp")));
    EXPECT_EQ(activity.mean_pct(), 0);
  }
}

}  // namespace
}  // namespace occbench
