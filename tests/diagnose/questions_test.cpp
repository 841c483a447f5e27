// Questions that people ask about launches of which they know numbers alone.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "by_numbers.hpp"
#include "diagnose/diagnose.hpp"

namespace occbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const Finding* find(const std::vector<Finding>& findings, Cause cause) {
  const auto found = std::ranges::find(findings, cause, &Finding::cause);
  return found == findings.end() ? nullptr : &*found;
}

double value_of(const Finding& finding, std::string_view column) {
  const auto found = std::ranges::find(finding.evidence, column, &Evidence::column);
  return found == finding.evidence.end() ? -1 : found->value;
}

TEST(ByNumbers, ThreeQuartersOfAWaveFillThreeQuartersAndFifteenBlocksMoreCostNothing) {
  // 512 threads on compute capability 9.0: an SM holds four blocks.
  const auto findings = diagnose(
      by_numbers("9.0", 15, {.block_threads = 512, .grid_blocks = 45}, {.registers_per_thread = 32}, 75.0));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].cause, Cause::small_grid);
  EXPECT_DOUBLE_EQ(findings[0].points, 25);
  EXPECT_DOUBLE_EQ(value_of(findings[0], "waves"), 0.75);
  EXPECT_THAT(findings[0].sentence, AllOf(HasSubstr("45 blocks"), HasSubstr("60 at once"),
                                          HasSubstr("3 of 4"), HasSubstr("75 % at most")));
  EXPECT_THAT(findings[0].remedy, AllOf(HasSubstr("15 blocks more"), HasSubstr("no further time")));
}

TEST(ByNumbers, BlocksMoreCostTimeWhereThoseThatAreThereUseTheIssueSlots) {
  // All pairs of bodies, as an H200 counted them: a quarter of a wave issues in most cycles.
  const auto remedy_of = [](int block_threads, std::int64_t grid_blocks, double issue_active_pct) {
    LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = block_threads, .grid_blocks = grid_blocks},
                                   {.registers_per_thread = 32}, block_threads == 1024 ? 50.0 : 21.3);
    facts.readings.counters.issue_active_pct = issue_active_pct;
    const auto findings = diagnose(facts);
    const Finding* grid = find(findings, Cause::small_grid);
    return grid == nullptr ? "" : grid->remedy;
  };
  // 3.88 blocks per SM at 71 %: room for 5.5.
  EXPECT_THAT(remedy_of(128, 512, 70.9),
              AllOf(HasSubstr("148 blocks more, 660 in all"), HasSubstr("issue_active_pct is 71 %")));
  // One block each on 64 of 132 SMs.
  EXPECT_THAT(remedy_of(1024, 64, 86.7), HasSubstr("68 blocks more, 132 in all"));
  EXPECT_EQ(remedy_of(1024, 132, 86.7),
            "More blocks cost time, since issue_active_pct is 87 %: do less of that.");
  EXPECT_THAT(remedy_of(128, 512, 20),
              HasSubstr("1,600 blocks more, 2,112 in all, cost no further time; or"));
}

TEST(ByNumbers, BlocksMoreCostNoTimeWhereTheyDoNotWaitForEachOtherAtAnAddress) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 132}, {.registers_per_thread = 32}, 12.5);
  const auto remedy_of = [&](double atomics, double waiting_warps) {
    facts.readings.counters.global_reductions = atomics;
    facts.readings.counters.long_scoreboard_stall_warps = waiting_warps;
    const auto findings = diagnose(facts);
    const Finding* grid = find(findings, Cause::small_grid);
    return grid == nullptr ? "" : grid->remedy;
  };
  const auto on_condition =
      HasSubstr("924 blocks more, 1,056 in all, cost no further time if they use addresses of their own; or");
  EXPECT_THAT(remedy_of(0, 0), HasSubstr("cost no further time; or"));
  EXPECT_THAT(remedy_of(1, 0), on_condition);
  // A scheduler has two active warps.
  EXPECT_THAT(remedy_of(0, 0.4), HasSubstr("cost no further time; or"));
  EXPECT_THAT(remedy_of(0, 0.6), on_condition);
}

TEST(ByNumbers, FewerBlocksThanSmsReadOneBlockAnSmAndNoMore) {
  const Launch launch{.block_threads = 256, .grid_blocks = 100};
  const auto findings = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 12.5));
  EXPECT_EQ(findings.at(0).cause, Cause::small_grid);
  EXPECT_DOUBLE_EQ(findings[0].points, 87.5);
  EXPECT_THAT(findings[0].sentence, HasSubstr("12.5 % at most"));
  const Finding* idle = find(findings, Cause::idle_sms);
  ASSERT_NE(idle, nullptr);
  EXPECT_THAT(idle->sentence, HasSubstr("32 of 132 SMs get no block"));
  EXPECT_EQ(find(findings, Cause::another_launch), nullptr);

  const auto more = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 31.0));
  const Finding* another = find(more, Cause::another_launch);
  ASSERT_NE(another, nullptr);
  EXPECT_DOUBLE_EQ(another->points, 18.5);
  EXPECT_THAT(another->sentence, AllOf(HasSubstr("can reach 12.5 %"), HasSubstr("another launch")));
}

TEST(ByNumbers, ACounterBelongsToAnotherLaunchFromAPointAboveReachOn) {
  // One block of 8 warps per SM: 12.5 %.
  const Launch launch{.block_threads = 256, .grid_blocks = 100};
  const auto is_another = [&](double achieved_pct) {
    const auto findings =
        diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, achieved_pct));
    return find(findings, Cause::another_launch) != nullptr;
  };
  EXPECT_FALSE(is_another(13.49));
  EXPECT_TRUE(is_another(13.51));
}

TEST(ByNumbers, SmsAreIdleFromAPointBetweenActiveAndElapsedCyclesOn) {
  const auto has_idle_sms = [](double elapsed_pct) {
    LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 2112},
                                   {.registers_per_thread = 32}, 95.0);
    facts.readings.achieved_elapsed_pct = elapsed_pct;
    const auto findings = diagnose(facts);
    return find(findings, Cause::idle_sms) != nullptr;
  };
  EXPECT_FALSE(has_idle_sms(94.01));
  EXPECT_TRUE(has_idle_sms(93.99));
}

TEST(ByNumbers, APredictionDiffersFromAPointOutsideItsIntervalOnEitherSide) {
  const auto differs = [](double achieved_pct) {
    LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 2112},
                                   {.registers_per_thread = 32}, achieved_pct);
    facts.prediction.emplace();
    facts.prediction->predicted_pct = 85;
    facts.prediction->interval = {80, 90};
    const auto findings = diagnose(facts);
    return find(findings, Cause::prediction_differs) != nullptr;
  };
  EXPECT_TRUE(differs(78.99));
  EXPECT_FALSE(differs(79.01));
  EXPECT_FALSE(differs(90.99));
  EXPECT_TRUE(differs(91.01));
}

TEST(ByNumbers, APredictionOfInferredWorkThatDiffersSaysWhatWasTakenAsEqual) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 2112}, {.registers_per_thread = 32}, 81);
  facts.prediction.emplace();
  facts.prediction->interval = {100, 100};
  facts.prediction->predicted_pct = 100;
  for (const bool inferred : {false, true}) {
    facts.work_is_inferred = inferred;
    const auto findings = diagnose(facts);
    const Finding* differs = find(findings, Cause::prediction_differs);
    ASSERT_NE(differs, nullptr);
    EXPECT_THAT(differs->remedy, HasSubstr(inferred ? "all blocks are taken as equal" : "its work string"));
  }
}

TEST(ByNumbers, FourAndALargeFractionOfAWaveLoseThreePointsAndTheRestIsSomethingElse) {
  // 64 registers: half of the warps; 4.7 waves of 132 x 4 blocks.
  const Launch launch{.block_threads = 256, .grid_blocks = 2482};
  LaunchFacts facts = by_numbers("9.0", 132, launch, {.registers_per_thread = 64}, 31.0);
  const auto findings = diagnose(facts);
  const Finding* tail = find(findings, Cause::tail);
  ASSERT_NE(tail, nullptr);
  EXPECT_NEAR(tail->points, 3, 0.1);
  const Finding* rest = find(findings, Cause::unexplained);
  ASSERT_NE(rest, nullptr);
  EXPECT_NEAR(rest->points, 16, 0.1);
  EXPECT_THAT(rest->sentence, AllOf(HasSubstr("uneven work"), HasSubstr("contention"), HasSubstr("memory")));
  EXPECT_THAT(rest->remedy, HasSubstr("resident_blocks"));

  // Resident blocks settle it: all four are there, so warps of them are not.
  facts.readings.counters.resident_blocks = 3.9;
  const auto settled = diagnose(facts);
  EXPECT_EQ(find(settled, Cause::unexplained), nullptr);
  const Finding* warps = find(settled, Cause::uneven_warps);
  ASSERT_NE(warps, nullptr);
  EXPECT_NEAR(warps->points, 100 * 3.9 / 8 - 31, 0.1);
  EXPECT_EQ(warps->confidence, Confidence::measured);
  // Or a block and a half are missing.
  facts.readings.counters.resident_blocks = 2.5;
  const auto uneven = diagnose(facts);
  ASSERT_NE(find(uneven, Cause::uneven_blocks), nullptr);
  EXPECT_NEAR(find(uneven, Cause::uneven_blocks)->points, 50 - 100 * 2.5 / 8 - tail->points, 0.1);
}

TEST(ByNumbers, ThirtyOneRegistersFillAnSmAndThirtyThreeLoseAQuarterOfIt) {
  const Launch launch{.block_threads = 512, .grid_blocks = 132 * 12};
  EXPECT_THAT(diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 31})), IsEmpty());
  const auto findings = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 33}, 74.8));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].cause, Cause::register_limit);
  EXPECT_DOUBLE_EQ(findings[0].points, 25);
  EXPECT_THAT(findings[0].sentence, AllOf(HasSubstr("33 registers x 512 threads"), HasSubstr("20,480"),
                                          HasSubstr("40 per thread")));
  EXPECT_THAT(findings[0].remedy, AllOf(HasSubstr("32 registers"), HasSubstr("100 %")));
}

TEST(ByNumbers, AHundredKilobytesOfSharedMemoryLetTwoBlocksIn) {
  const Launch launch{.block_threads = 256, .grid_blocks = 264, .dynamic_shared_bytes = 100 * 1024};
  const auto findings = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 24.9));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].cause, Cause::shared_memory_limit);
  EXPECT_DOUBLE_EQ(findings[0].points, 75);
  EXPECT_DOUBLE_EQ(value_of(findings[0], "blocks_per_sm"), 2);
  // Three blocks share 228 KB, of which each has 1 KB reserved.
  EXPECT_THAT(findings[0].remedy, AllOf(HasSubstr("76,800 B"), HasSubstr("37.5 %")));
}

TEST(ByNumbers, BlocksOfOneWarpFillHalfAndFewOfThemLess) {
  const auto findings = diagnose(
      by_numbers("10.0", 148, {.block_threads = 32, .grid_blocks = 512}, {.registers_per_thread = 32}));
  ASSERT_GE(findings.size(), 2U);
  const Finding* limit = find(findings, Cause::block_size_limit);
  ASSERT_NE(limit, nullptr);
  EXPECT_DOUBLE_EQ(limit->points, 50);  // 32 blocks of one warp
  EXPECT_THAT(limit->remedy, HasSubstr("64 threads"));
  const Finding* grid = find(findings, Cause::small_grid);
  ASSERT_NE(grid, nullptr);
  EXPECT_NEAR(grid->points, 50 - 100 * (512.0 / 148) / 64, 0.01);
}

TEST(ByNumbers, BlocksOf768ThreadsLeaveAQuarterOfAnSmAndALastWaveThatIsPartial) {
  const auto findings = diagnose(
      by_numbers("10.0", 148, {.block_threads = 768, .grid_blocks = 512}, {.registers_per_thread = 32}));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].cause, Cause::block_size_limit);
  EXPECT_DOUBLE_EQ(findings[0].points, 25);  // two blocks of 24 warps
  EXPECT_EQ(findings[0].remedy, "With 512 or 1,024 threads a block theory is 100 %.");
  EXPECT_EQ(findings[1].cause, Cause::tail);
  EXPECT_NEAR(findings[1].points, 75 * (1 - 512.0 / 296 / 2), 0.01);
  EXPECT_THAT(findings[1].sentence, HasSubstr("216 of 296"));
}

}  // namespace
}  // namespace occbench
