#include "simulate/contention.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace occbench {
namespace {

struct How {
  double lockstep_cycles = 0;
  double of_three = 0;
};

Contention contention_of(int partitions, const Rates& alone, double bytes_per_cycle = 1,
                         const How& how = {}) {
  return {partitions,
          IssueContention::rules(alone, alone.always_issues(0.8), how.lockstep_cycles,
                                 GreedyGroups(how.of_three, Draws(1))),
          MemoryContention(alone.bytes, bytes_per_cycle)};
}

std::vector<double> finishes(Contention& contention) {
  std::vector<double> times;
  while (contention.next_finish() < std::numeric_limits<double>::infinity()) {
    const Contention::Finished finished = contention.finish_next();
    times.insert(times.end(), finished.warps.size(), finished.time);
  }
  return times;
}

/// A block of one warp.
void begin_one(Contention& contention, double time, int partition, int block, double cycles) {
  contention.begin(time, partition, block, std::array{ContendingWarp{cycles, 0}});
}

TEST(Contention, WarpsThatFitSideBySideDoNotSlowEachOther) {
  Contention contention = contention_of(1, {.issue = 0.25}, 1);
  for (int warp = 0; warp < 4; ++warp) begin_one(contention, 0, 0, warp, 1000);
  EXPECT_EQ(finishes(contention), (std::vector<double>{1000, 1000, 1000, 1000}));
}

TEST(Contention, WarpsBeyondTheIssueSlotsWaitForTheFirstToFinish) {
  Contention contention = contention_of(1, {.issue = 0.25}, 1);
  for (int warp = 0; warp < 8; ++warp) begin_one(contention, 0, 0, warp, 1000);
  EXPECT_EQ(finishes(contention), (std::vector<double>{1000, 1000, 1000, 1000, 2000, 2000, 2000, 2000}));
}

TEST(Contention, WarpsOfOneBlockProgressAlike) {
  // As the eight warps above, but of one block: nobody is first.
  Contention contention = contention_of(1, {.issue = 0.25}, 1);
  std::vector<ContendingWarp> warps;
  for (int warp = 0; warp < 8; ++warp) warps.push_back({1000, warp});
  contention.begin(0, 0, 0, warps);
  EXPECT_EQ(finishes(contention), (std::vector<double>(8, 2000)));
}

TEST(Contention, AnOlderBlockIsServedFirstWhateverItNeeds) {
  // The first block fills the slots until its short warp has finished at 1000; its long one then leaves half
  // of them to the second block.
  Contention contention = contention_of(1, {.issue = 0.5}, 1);
  contention.begin(0, 0, 0, std::array{ContendingWarp{1000, 0}, ContendingWarp{3000, 1}});
  begin_one(contention, 0, 0, 1, 500);
  EXPECT_EQ(finishes(contention), (std::vector<double>{1000, 1500, 3000}));
}

TEST(Contention, AnInstructionThatHasBegunIsNotInterrupted) {
  // A warp alone keeps the pipe busy for 8 of 17 cycles. Two leave a rest of it, of which the third does not
  // get a sixteenth but as much as they: three have 1/3 each, the fourth waits.
  Contention contention = contention_of(1, {.pipe = 8.0 / 17}, 1);
  for (int warp = 0; warp < 4; ++warp) begin_one(contention, 0, 0, warp, 17'000);
  const std::vector<double> times = finishes(contention);
  for (int warp = 0; warp < 3; ++warp) EXPECT_NEAR(times[static_cast<std::size_t>(warp)], 3 * 8'000, 1e-6);
  EXPECT_NEAR(times[3], 3 * 8'000 + 17'000, 1e-6);
}

std::vector<double> finishes_of_every_cycle(int warps, double lockstep_cycles, double of_three = 0) {
  Contention contention =
      contention_of(1, {.issue = 1}, 1, {.lockstep_cycles = lockstep_cycles, .of_three = of_three});
  for (int warp = 0; warp < warps; ++warp) begin_one(contention, 0, 0, warp, 1000);
  return finishes(contention);
}

TEST(Contention, WarpsThatCouldIssueInEveryCycleAreServedInPairs) {
  EXPECT_THAT(finishes_of_every_cycle(1, 0), testing::ElementsAre(1000));
  EXPECT_THAT(finishes_of_every_cycle(3, 0), testing::ElementsAre(2000, 2000, 3000));
  EXPECT_THAT(finishes_of_every_cycle(4, 0), testing::ElementsAre(2000, 2000, 4000, 4000));
}

TEST(Contention, TheThreeOldestAreServedUntilAllOfThemHaveFinished) {
  EXPECT_THAT(finishes_of_every_cycle(8, 0, 1),
              testing::ElementsAre(3000, 3000, 3000, 6000, 6000, 6000, 8000, 8000));
}

TEST(Contention, AServedGroupEndsWhenNobodyIsLeft) {
  Contention contention = contention_of(1, {.issue = 1}, 1, {.of_three = 1});
  for (int warp = 0; warp < 2; ++warp) begin_one(contention, 0, 0, warp, 1000);
  EXPECT_EQ(finishes(contention), (std::vector<double>{2000, 2000}));
  for (int warp = 0; warp < 3; ++warp) begin_one(contention, 5000, 0, warp, 1000);
  EXPECT_EQ(finishes(contention), (std::vector<double>{8000, 8000, 8000}));
}

TEST(Contention, OfThoseThatComeAfterOneHasEndedOnlyABlockAloneIsInLockstep) {
  const auto second_wave = [](int blocks) {
    Contention contention = contention_of(1, {.issue = 1}, 1, {.lockstep_cycles = 1e6});
    begin_one(contention, 0, 0, 0, 1000);
    EXPECT_EQ(finishes(contention), (std::vector<double>{1000}));
    for (int block = 0; block < blocks; ++block) {
      const std::vector<ContendingWarp> warps(static_cast<std::size_t>(4 / blocks), {1000, 0});
      contention.begin(2000, 0, block, warps);
    }
    return finishes(contention);
  };
  EXPECT_EQ(second_wave(1), (std::vector<double>{6000, 6000, 6000, 6000}));
  EXPECT_EQ(second_wave(2), (std::vector<double>{4000, 4000, 6000, 6000}));
}

TEST(Contention, TheOldestAreServedToTheEndBeforeTheNext) {
  Contention contention = contention_of(1, {.issue = 1}, 1);
  begin_one(contention, 0, 0, 0, 1000);
  begin_one(contention, 0, 0, 1, 2000);
  begin_one(contention, 500, 0, 2, 1000);
  // The second is alone from 2000 to 3000.
  EXPECT_EQ(finishes(contention), (std::vector<double>{2000, 3000, 4000}));
}

TEST(Contention, OneGroupInFourHasThreeWarps) {
  Contention contention = contention_of(1, {.issue = 1}, 1, {.of_three = 0.25});
  constexpr int kWarps = 4000;
  for (int warp = 0; warp < kWarps; ++warp) begin_one(contention, 0, 0, warp, 1000);
  const std::vector<double> times = finishes(contention);
  const auto groups = static_cast<double>(std::set(times.begin(), times.end()).size());
  EXPECT_NEAR(kWarps / groups, 0.75 * 2 + 0.25 * 3, 0.05);
}

TEST(Contention, InLockstepAnEvenNumberSharesEquallyAndTheYoungestOfAnOddNumberStalls) {
  EXPECT_THAT(finishes_of_every_cycle(1, 1e6), testing::ElementsAre(1000));
  EXPECT_THAT(finishes_of_every_cycle(4, 1e6), testing::ElementsAre(4000, 4000, 4000, 4000));
  EXPECT_THAT(finishes_of_every_cycle(5, 1e6), testing::ElementsAre(4000, 4000, 4000, 4000, 5000));
  // A quarter each of the first 800 cycles; then two have all that is left.
  EXPECT_THAT(finishes_of_every_cycle(4, 800), testing::ElementsAre(2400, 2400, 4000, 4000));
}

TEST(Contention, SubPartitionsDoNotShareIssueSlots) {
  Contention contention = contention_of(2, {.pipe = 1}, 1);
  begin_one(contention, 0, 0, 0, 1000);
  begin_one(contention, 0, 1, 1, 1000);
  EXPECT_EQ(finishes(contention), (std::vector<double>{1000, 1000}));
}

TEST(Contention, BandwidthSlowsAllAlike) {
  // Two warps that each want 1,000 times what the device moves; when the short one is done the other has it
  // alone: 2 x 500 cycles, then the 500 that are left, 1,000 times as long.
  Contention contention = contention_of(8, {.bytes = 1e4}, 10);
  begin_one(contention, 0, 0, 0, 500);
  begin_one(contention, 0, 5, 1, 1000);
  EXPECT_THAT(finishes(contention),
              testing::ElementsAre(testing::DoubleNear(1e6, 1), testing::DoubleNear(1.5e6, 1)));
}

TEST(Contention, MemorySlowsWarpsOnceTheyAskForMoreThanItMoves) {
  const auto cycles = [](double share) {
    Contention contention = contention_of(1, {.bytes = share}, 1);
    begin_one(contention, 0, 0, 0, 1000);
    return finishes(contention).front();
  };
  EXPECT_DOUBLE_EQ(cycles(0.1), 1000);
  EXPECT_DOUBLE_EQ(cycles(1), 1000);
  EXPECT_DOUBLE_EQ(cycles(10), 10'000);
}

TEST(Contention, NoWorkIsLostWhenWarpsComeAndGo) {
  // One at a time: they finish in the order of coming, and the sum of the work is the end.
  Contention contention = contention_of(1, {.pipe = 1}, 1);
  begin_one(contention, 0, 0, 0, 300);
  begin_one(contention, 100, 0, 1, 50);
  EXPECT_EQ(contention.finish_next().time, 300);
  begin_one(contention, 310, 0, 2, 1000);
  EXPECT_EQ(contention.finish_next().block, 1);
  const Contention::Finished last = contention.finish_next();
  EXPECT_EQ(last.block, 2);
  EXPECT_DOUBLE_EQ(last.time, 1350);
}

}  // namespace
}  // namespace occbench
