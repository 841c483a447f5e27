#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/residency.hpp"

namespace occbench {
namespace {

TEST(Timeline, IsTheMeanOfResidentWarpsInEachStep) {
  TimelineBuilder builder;
  builder.add(0, 128, 8);   // two whole steps of 64
  builder.add(96, 160, 4);  // half a step, half a step
  const Timeline timeline = builder.finish();
  EXPECT_EQ(timeline.step_cycles, 64);
  EXPECT_THAT(timeline.warps, testing::ElementsAre(8, 10, 2));
}

TEST(Timeline, KeepsItsAreaHoweverLongTheLaunch) {
  TimelineBuilder builder;
  double area = 0;
  for (int i = 0; i < 1000; ++i) {
    const double start = i * i;
    builder.add(start, start + 700, 2);
    area += 700 * 2;
  }
  const Timeline timeline = builder.finish();
  EXPECT_LE(timeline.warps.size(), 512u);
  EXPECT_NEAR(std::accumulate(timeline.warps.begin(), timeline.warps.end(), 0.0) * timeline.step_cycles, area,
              1e-6 * area);
}

}  // namespace
}  // namespace occbench
