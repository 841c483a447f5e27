#include "schedule/competition.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace occbench {
namespace {

std::vector<double> finishes(Competition& competition) {
  std::vector<double> times;
  while (competition.next_finish() < std::numeric_limits<double>::infinity()) {
    times.push_back(competition.finish_next().time);
  }
  return times;
}

TEST(Competition, WarpsThatFitSideBySideDoNotSlowEachOther) {
  Competition competition(1, 0.25, 0, 1);
  for (int warp = 0; warp < 4; ++warp) competition.begin(0, 0, warp, 1000);
  EXPECT_EQ(finishes(competition), (std::vector<double>{1000, 1000, 1000, 1000}));
}

TEST(Competition, WarpsBeyondTheIssueSlotsWaitForTheFirstToFinish) {
  Competition competition(1, 0.25, 0, 1);
  for (int warp = 0; warp < 8; ++warp) competition.begin(0, 0, warp, 1000);
  EXPECT_EQ(finishes(competition), (std::vector<double>{1000, 1000, 1000, 1000, 2000, 2000, 2000, 2000}));
}

TEST(Competition, SubPartitionsDoNotShareIssueSlots) {
  Competition competition(2, 1, 0, 1);
  competition.begin(0, 0, 0, 1000);
  competition.begin(0, 1, 1, 1000);
  EXPECT_EQ(finishes(competition), (std::vector<double>{1000, 1000}));
}

TEST(Competition, BandwidthSlowsAllAlike) {
  // Two warps that each want 10 bytes a cycle of a device that moves 10; when the short one is done the other
  // has it alone: 2 x 500 cycles, then the 500 that are left.
  Competition competition(8, 0, 10, 10);
  competition.begin(0, 0, 0, 500);
  competition.begin(0, 5, 1, 1000);
  EXPECT_EQ(finishes(competition), (std::vector<double>{1000, 1500}));
}

TEST(Competition, NoWorkIsLostWhenWarpsComeAndGo) {
  // One at a time: they finish in the order of coming, and the sum of the work is the end.
  Competition competition(1, 1, 0, 1);
  competition.begin(0, 0, 0, 300);
  competition.begin(100, 0, 1, 50);
  EXPECT_EQ(competition.finish_next().time, 300);
  competition.begin(310, 0, 2, 1000);
  EXPECT_EQ(competition.finish_next().warp, 1);
  const Competition::Finished last = competition.finish_next();
  EXPECT_EQ(last.warp, 2);
  EXPECT_DOUBLE_EQ(last.time, 1350);
}

}  // namespace
}  // namespace occbench
