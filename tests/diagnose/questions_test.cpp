// Questions that people ask about launches of which they know numbers alone.
#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnose.hpp"
#include "diagnose/situation.hpp"
#include "occupancy/limits.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What somebody who stands before a profiler's page knows of a launch.
LaunchFacts by_numbers(const char* capability, int sm_count, Launch launch, Usage usage,
                       std::optional<double> achieved_pct = std::nullopt) {
  const Limits& limits = limits_of(parse_compute_capability(capability));
  LaunchFacts facts{.limits = &limits,
                    .sm_count = sm_count,
                    .launch = launch,
                    .compiled = Compiled{.usage = usage, .code_architecture = {}},
                    .theoretical_pct = theoretical_occupancy(limits, launch, usage).theoretical_pct};
  facts.readings.counters.achieved_pct = achieved_pct;
  return facts;
}

const Finding* find(const std::vector<Finding>& findings, Cause cause) {
  const auto found = std::ranges::find(findings, cause, &Finding::cause);
  return found == findings.end() ? nullptr : &*found;
}

/// @throws std::out_of_range where there is none
Finding the(const std::vector<Finding>& findings, Cause cause) {
  if (const Finding* const found = find(findings, cause)) return *found;
  throw std::out_of_range(fmt::format("no finding of {}", to_string(cause)));
}

double value_of(const Finding& finding, std::string_view column) {
  const auto found = std::ranges::find(finding.evidence, column, &Evidence::column);
  return found == finding.evidence.end() ? -1 : found->value;
}

TEST(ByNumbers, ClustersLeavePlacesWhereTheyFillTheWaveThatGpcsHold) {
  const auto causes = [](std::int64_t grid, std::vector<int> gpcs) {
    LaunchFacts facts =
        by_numbers("9.0", 132, {.block_threads = 1024, .grid_blocks = grid, .cluster_blocks = 16},
                   {.registers_per_thread = 20}, 80.0);
    facts.sms_per_gpc = std::move(gpcs);
    return diagnose(facts);
  };
  const std::vector<int> gpcs = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  EXPECT_THAT(the(causes(224, gpcs), Cause::clusters).sentence, HasSubstr("take 224 of 264 places"));
  const Finding smaller = the(causes(208, gpcs), Cause::small_grid);
  EXPECT_THAT(smaller.sentence, HasSubstr("the device holds 224 at once"));
  EXPECT_THAT(smaller.remedy, HasSubstr("16 blocks more, 224 in all"));
  EXPECT_THAT(the(causes(240, gpcs), Cause::tail).sentence, HasSubstr("has 16 of 224 blocks"));
  // Whether 240 blocks take two rounds or more is not known by waves.
  const Finding tail = the(causes(240, gpcs), Cause::tail);
  EXPECT_THAT(tail.remedy, AllOf(HasSubstr("Clusters of 8 blocks instead of 16 hold all 240 at once"),
                                 Not(HasSubstr("for the same work"))));
  EXPECT_THAT(tail.time->sentence, HasSubstr("Not known: clusters may take more rounds than waves"));
  EXPECT_THAT(the(causes(160, {}), Cause::small_grid).sentence, HasSubstr("holds at most 256 at once"));
  EXPECT_THAT(the(causes(240, gpcs), Cause::idle_sms).sentence, HasSubstr("16 of 132 SMs lie in GPCs"));
}

// An H200 with these GPCs, equal blocks: what its counter read.
TEST(ByNumbers, PlacesInGpcsWithoutRoomForAClusterCostTheCounterWhatWasMeasured) {
  const auto cause = [](int block_threads, std::int64_t dynamic, std::int64_t grid, int cluster,
                        double achieved) {
    LaunchFacts facts = by_numbers("9.0", 132,
                                   {.block_threads = block_threads,
                                    .grid_blocks = grid,
                                    .cluster_blocks = cluster,
                                    .dynamic_shared_bytes = dynamic},
                                   {.registers_per_thread = 20}, achieved);
    facts.sms_per_gpc = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
    return diagnose(facts);
  };
  EXPECT_NEAR(the(cause(1024, 0, 1568, 16, 96.49), Cause::clusters).points, 100 - 96.49, 0.2);
  EXPECT_NEAR(the(cause(1024, 0, 224, 16, 96.50), Cause::clusters).points, 100 - 96.50, 0.2);
  EXPECT_NEAR(the(cause(384, 102400, 2304, 12, 30.61), Cause::clusters).points, 37.5 - 30.61, 0.5);
  // Clusters of 6 leave no place empty on the SMs that have one.
  EXPECT_EQ(find(cause(384, 71680, 1116, 6, 55.32), Cause::clusters), nullptr);
  EXPECT_EQ(find(cause(384, 71680, 372, 6, 53), Cause::clusters), nullptr);
  EXPECT_EQ(find(cause(384, 71680, 372, 6, 53), Cause::small_grid), nullptr) << "a full wave of clusters";
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
    facts.readings.counters.dram_busy_pct = facts.readings.counters.fp32_pipe_pct = 1;
    return the(diagnose(facts), Cause::small_grid).remedy;
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
    facts.readings.counters.issue_active_pct = 5;
    facts.readings.counters.dram_busy_pct = facts.readings.counters.fp32_pipe_pct = 1;
    facts.readings.counters.atomic_requests = atomics;
    facts.readings.counters.memory_stall_warps = waiting_warps;
    return the(diagnose(facts), Cause::small_grid).remedy;
  };
  const auto on_condition =
      HasSubstr("924 blocks more, 1,056 in all, cost no further time if they use addresses of their own; or");
  EXPECT_THAT(remedy_of(0, 0), HasSubstr("cost no further time; or"));
  EXPECT_THAT(remedy_of(1, 0), on_condition);
  // A scheduler has two active warps.
  EXPECT_THAT(remedy_of(0, 0.4), HasSubstr("cost no further time; or"));
  EXPECT_THAT(remedy_of(0, 0.6), on_condition);
}

TEST(ByNumbers, ActiveCyclesInWhichTheBlocksCannotBeGivenOutAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 64, .grid_blocks = 400'000}, {.registers_per_thread = 24}, 61);
  // A GH100 gives out a block in 1.1 cycles or more.
  facts.readings.counters.sm_cycles_active_avg = 200'000;
  EXPECT_THAT(
      the(diagnose(facts), Cause::another_launch).sentence,
      AllOf(HasSubstr("giving 400,000 blocks out takes"), HasSubstr("so 200,000 active cycles belong")));
  facts.readings.counters.sm_cycles_active_avg = 450'000;
  EXPECT_THAT(diagnose(facts),
              testing::Not(testing::Contains(testing::Field(&Finding::cause, Cause::another_launch))));
}

TEST(ByNumbers, BlocksMoreCostNoTimeOnConditionWhereNoUseWasCounted) {
  const LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 132}, {.registers_per_thread = 32}, 12.5);
  EXPECT_THAT(the(diagnose(facts), Cause::small_grid).remedy,
              HasSubstr("cost no further time where memory and issue slots are not busy (not counted); or"));
}

TEST(ByNumbers, BlocksMoreCostNoTimeOnConditionWhereSomeUseWasNotRead) {
  // As tiled products of an H200's sweep, which are alike busy with a third and all of their warps: shared memory may be why.
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 132, .dynamic_shared_bytes = 16'384},
                 {.registers_per_thread = 32}, 12.5);
  facts.readings.counters.issue_active_pct = 31;
  facts.readings.counters.fp32_pipe_pct = 20;
  EXPECT_THAT(
      the(diagnose(facts), Cause::small_grid).remedy,
      HasSubstr("264 blocks more, 396 in all, cost no further time (issue_active_pct is 31 %) unless device "
                "memory or shared memory is busy, which was not read; or"));
}

TEST(ByNumbers, FewerBlocksThanSmsReadOneBlockAnSmAndNoMore) {
  const Launch launch{.block_threads = 256, .grid_blocks = 100};
  const auto findings = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 12.5));
  EXPECT_EQ(findings.at(0).cause, Cause::small_grid);
  EXPECT_DOUBLE_EQ(findings[0].points, 87.5);
  EXPECT_THAT(findings[0].sentence, HasSubstr("12.5 % at most"));
  const Finding idle = the(findings, Cause::idle_sms);
  EXPECT_THAT(idle.sentence, HasSubstr("32 of 132 SMs get no block"));
  EXPECT_EQ(find(findings, Cause::another_launch), nullptr);

  const auto more = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 31.0));
  const Finding another = the(more, Cause::another_launch);
  EXPECT_EQ(more.front().cause, Cause::another_launch);
  // No cause has points by a counter that is not this launch's.
  EXPECT_DOUBLE_EQ(another.points, 69);
  EXPECT_EQ(find(more, Cause::small_grid), nullptr);
  EXPECT_THAT(another.sentence, AllOf(HasSubstr("can reach 12.5 %"), HasSubstr("an achieved 31 %"),
                                      HasSubstr("another launch")));
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

/// Of 256 threads on an SM that holds 48 warps, 6 blocks.
TEST(ByNumbers, ResidentBlocksThatCannotFillWhatWasAchievedAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("8.9", 128, {.block_threads = 256, .grid_blocks = 9216}, {.registers_per_thread = 32}, 99);
  const auto said_of = [&](double resident_blocks) {
    facts.readings.counters.resident_blocks = resident_blocks;
    return diagnose(facts);
  };
  const auto half = said_of(3);
  ASSERT_EQ(half.size(), 1U);
  EXPECT_EQ(half[0].cause, Cause::another_launch);
  EXPECT_THAT(half[0].sentence, HasSubstr("3 resident blocks fill 50 % at most, so an achieved 99 %"));
  EXPECT_FALSE(half[0].time);
  // Recorded counters of short blocks differ by 1.8 points.
  EXPECT_NE(find(said_of(6 * 0.969), Cause::another_launch), nullptr);
  EXPECT_EQ(find(said_of(6 * 0.971), Cause::another_launch), nullptr);
}

TEST(ByNumbers, MoreResidentBlocksThanAnSmGetsOfTheGridAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 300}, {.registers_per_thread = 24}, 14);
  facts.readings.counters.resident_blocks = 3;
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
  facts.readings.counters.resident_blocks = 6;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("gets 3 blocks of the grid at most, so 6 resident blocks"));
}

TEST(ByNumbers, BlocksWhoseWarpsHaveEndedStillTakeTheirSharedMemory) {
  // 50 KB + 1 KB of 228: four blocks, of 8 by registers.
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 5280, .dynamic_shared_bytes = 50 * 1024},
                 {.registers_per_thread = 32}, 40);
  facts.readings.counters.resident_blocks = 4.02;
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
  facts.readings.counters.resident_blocks = 5.2;
  EXPECT_THAT(
      the(diagnose(facts), Cause::another_launch).sentence,
      HasSubstr("an SM can hold 4 blocks at once, however soon their warps end, so 5.2 resident blocks"));
  EXPECT_EQ(find(diagnose(facts), Cause::uneven_warps), nullptr);
  // With 64 registers four fit, too, and each warp gives its own back.
  facts.launch->dynamic_shared_bytes = 0;
  facts.compiled->usage.registers_per_thread = 64;
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
}

TEST(ByNumbers, MoreActiveCyclesThanTheTimeHasRoomForAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 2112}, {.registers_per_thread = 32}, 90);
  facts.most_cycles_active = 100'000;
  facts.readings.counters.sm_cycles_active_avg = 199'000;
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
  facts.readings.counters.sm_cycles_active_avg = 201'000;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("room for 100,000 cycles at the highest clock, so 201,000 active cycles"));
  // The clock of that very time leaves less room for doubt.
  facts.clock_is_given = true;
  facts.readings.counters.sm_cycles_active_avg = 109'000;
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
  facts.readings.counters.sm_cycles_active_avg = 111'000;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("room for 100,000 cycles at the clock that was given"));
}

TEST(ByNumbers, BesideAnotherLaunchNothingIsByItsReadingsAndNoTimeIsKnown) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 512, .grid_blocks = 132 * 12},
                                 {.registers_per_thread = 33}, 90);
  facts.readings.achieved_elapsed_pct = 60;
  facts.readings.counters.barrier_stall_warps = 33;
  facts.times.time_us = 400;
  const auto findings = diagnose(facts);
  ASSERT_EQ(findings.size(), 2U) << "neither idle SMs nor barriers";
  EXPECT_EQ(findings.front().cause, Cause::another_launch);
  EXPECT_DOUBLE_EQ(findings.front().points, 0) << "the counter reads more than theory";
  for (const Finding& finding : findings) {
    EXPECT_NE(finding.confidence, Confidence::measured) << to_string(finding.cause);
    if (finding.time) {
      EXPECT_EQ(finding.time->sentence, "Not known: the readings are another launch's.");
    }
  }
  EXPECT_DOUBLE_EQ(the(findings, Cause::register_limit).points, 25) << "between 100 % and theory";
}

TEST(ByNumbers, GivingBlocksOutCostsNoMoreThanPlacesThatAreEmpty) {
  // In 28 waves of 2,112 blocks the dispatcher needs 69,189 cycles.
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 59'136}, {.registers_per_thread = 24}, 93);
  facts.most_cycles_active = 117'270;
  const Finding unread = the(diagnose(facts), Cause::overhead);
  EXPECT_THAT(unread.sentence, AllOf(HasSubstr("6 points: giving blocks out takes about 59 % of the time"),
                                     HasSubstr("uneven blocks may leave as many places empty"),
                                     testing::Not(HasSubstr("as fast as"))));
  facts.most_cycles_active = 73'600;
  EXPECT_THAT(the(diagnose(facts), Cause::overhead).sentence,
              HasSubstr("blocks end about as fast as they can be given out, which takes 94 % of the time"));
  facts.most_cycles_active = 117'270;
  // Half a block of 16 is missing, which is 3.1 points.
  facts.readings.counters.resident_blocks = 15.5;
  const auto some = diagnose(facts);
  EXPECT_NEAR(the(some, Cause::overhead).points, 3.1, 1);
  EXPECT_NEAR(the(some, Cause::uneven_warps).points, 3.9, 1);
  for (const double full : {17.0, 20.0}) {
    facts.readings.counters.resident_blocks = full;
    const auto findings = diagnose(facts);
    EXPECT_EQ(findings.front().cause, Cause::uneven_warps);
    for (const Finding& finding : findings)
      EXPECT_THAT(finding.sentence, testing::Not(HasSubstr("given out"))) << full;
  }
}

TEST(ByNumbers, BlocksMoreOfAShortLaunchCostTheTimeOfGivingThemOut) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 300}, {.registers_per_thread = 24}, 14);
  facts.most_cycles_active = 8712;  // 4.4 us at 1.98 GHz
  const auto giving_out = HasSubstr("except for giving them out: 6 % of this launch's time or more");
  EXPECT_THAT(the(diagnose(facts), Cause::small_grid).remedy, giving_out);
  facts.most_cycles_active = 871'200;
  EXPECT_THAT(the(diagnose(facts), Cause::small_grid).remedy,
              AllOf(HasSubstr("cost no further time"), testing::Not(HasSubstr("giving them out"))));
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
  facts.work_is_inferred = true;
  EXPECT_THAT(the(diagnose(facts), Cause::prediction_differs).remedy,
              HasSubstr("all blocks are taken as equal"));
  facts.work_is_inferred = false;
  EXPECT_THAT(the(diagnose(facts), Cause::prediction_differs).remedy, HasSubstr("`occbench calibrate`"));
  facts.prediction->profile_quality = ProfileQuality::calibrated_device;
  EXPECT_THAT(the(diagnose(facts), Cause::prediction_differs).remedy,
              AllOf(HasSubstr("the model may be off here"), HasSubstr("its work string"),
                    testing::Not(HasSubstr("calibrate`"))));
}

TEST(ByNumbers, FourAndALargeFractionOfAWaveLoseThreePointsAndTheRestIsSomethingElse) {
  // 64 registers: half of the warps; 4.7 waves of 132 x 4 blocks.
  const Launch launch{.block_threads = 256, .grid_blocks = 2482};
  LaunchFacts facts = by_numbers("9.0", 132, launch, {.registers_per_thread = 64}, 31.0);
  const auto findings = diagnose(facts);
  const Finding tail = the(findings, Cause::tail);
  EXPECT_NEAR(tail.points, 3, 0.1);
  const Finding rest = the(findings, Cause::unexplained);
  EXPECT_NEAR(rest.points, 16, 0.1);
  EXPECT_EQ(rest.sentence, "16 points: no cause has evidence for them.");
  EXPECT_THAT(rest.remedy,
              AllOf(HasSubstr("`ncu --metrics sm__ctas_active.avg.per_cycle_active,sm__cycles_active.avg"),
                    HasSubstr("--counter resident_blocks=N"), HasSubstr("blocks are short")));
  EXPECT_FALSE(rest.time);

  // Resident blocks settle it: all four are there, so warps of them are not.
  facts.readings.counters.resident_blocks = 3.9;
  const auto settled = diagnose(facts);
  EXPECT_EQ(find(settled, Cause::unexplained), nullptr);
  const Finding warps = the(settled, Cause::uneven_warps);
  EXPECT_NEAR(warps.points, 100 * 3.9 / 8 - 31, 0.1);
  EXPECT_EQ(warps.confidence, Confidence::measured);
  // Or a block and a half are missing.
  facts.readings.counters.resident_blocks = 2.5;
  const auto uneven = diagnose(facts);
  EXPECT_NEAR(the(uneven, Cause::uneven_blocks).points, 50 - 100 * 2.5 / 8 - tail.points, 0.1);
}

TEST(ByNumbers, TheLimitOfTheoryTakesNothingOfWhatIsLostBelowIt) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 7920}, {.registers_per_thread = 40}, 74);
  facts.work = Work::equal(200'000);
  facts.prediction.emplace();
  facts.prediction->predicted_pct = 75;
  facts.prediction->interval = {73.5, 75};
  const auto findings = diagnose(facts);
  EXPECT_NEAR(the(findings, Cause::register_limit).points, 25, 1e-9);
  EXPECT_NEAR(the(findings, Cause::unexplained).points, 1, 1e-9);
}

TEST(ByNumbers, CountersThatNoLaunchHasTogetherAreOfSeveral) {
  const auto said = [](auto&& change) {
    LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560},
                                   {.registers_per_thread = 32}, 70);
    change(facts.readings.counters);
    const auto findings = diagnose(facts);
    const Finding* const found = find(findings, Cause::another_launch);
    return found == nullptr ? std::string() : found->sentence;
  };
  EXPECT_THAT(said([](auto& of) { of.barrier_stall_warps = 40; }),
              HasSubstr("of a scheduler's warps 40 wait at barriers, where 11.2 are active"));
  EXPECT_THAT(said([](auto& of) { of.memory_stall_warps = 13; }), HasSubstr("13 wait for memory"));
  EXPECT_THAT(said([](auto& of) { of.eligible_warps = 13; }), HasSubstr("13 are eligible"));
  EXPECT_THAT(said([](auto& of) { of.barrier_stall_warps = of.memory_stall_warps = 6.5; }),
              HasSubstr("6.5 wait at barriers, 6.5 wait for memory, where"));
  for (const auto& [issue, eligible] : {std::pair(95.0, 0.1), std::pair(2.0, 9.0)})
    EXPECT_THAT(
        said([&](auto& of) {
          of.issue_active_pct = issue;
          of.eligible_warps = eligible;
        }),
        HasSubstr(fmt::format("issues in {} % of its cycles with {} eligible warps", issue, eligible)));
  EXPECT_THAT(said([](auto& of) {
                of.sm_cycles_active_avg = 100'000;
                of.sm_cycles_active_max = 90'000;
              }),
              HasSubstr("the mean of active cycles is not between least and most"));
  EXPECT_EQ(said([](auto& of) {
              of.issue_active_pct = 40;
              of.eligible_warps = 0.9;
              of.memory_stall_warps = 9;
              of.sm_cycles_active_avg = 100'000;
              of.sm_cycles_active_max = 104'000;
            }),
            "");
}

TEST(ByNumbers, WarpsThatAreLeftOfTheirBlocksMayAllBeOneSchedulers) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560},
                                 {.registers_per_thread = 32}, 12.5);
  facts.readings.counters.memory_stall_warps = 7;  // of the eight of an SM
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
  // Those of one block per SM that are all there are two on each scheduler.
  facts.launch->grid_blocks = 132;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence, HasSubstr("where 2 are active"));
}

TEST(ByNumbers, OccupancyAboveThatOfActiveCyclesOrBelowOneWarpIsOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  facts.readings.achieved_elapsed_pct = 60.9;
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
  facts.readings.achieved_elapsed_pct = 61.1;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("occupancy is 61.1 % over elapsed cycles, and 60 % over the fewer active ones"));
  facts.readings = {};
  for (const double achieved : {0.0, 0.6, 1.0}) {
    facts.readings.counters.achieved_pct = achieved;
    EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
                AllOf(HasSubstr("an SM with a warp reads 1.56 % at least"),
                      HasSubstr("no percentage but a fraction")));
  }
  facts.readings.counters.achieved_pct = 1.5;  // rounded
  EXPECT_EQ(find(diagnose(facts), Cause::another_launch), nullptr);
}

TEST(ByNumbers, LocalSectorsShowSpillsUnlessThereIsNoLocalMemory) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 384, .grid_blocks = 5000}, {.registers_per_thread = 40}, 48);
  facts.readings.counters.local_sectors = 9e6;
  facts.readings.counters.memory_stall_warps = 5;
  EXPECT_EQ(diagnose(facts).front().cause, Cause::spills);
  EXPECT_EQ(find(diagnose(facts), Cause::memory_contention), nullptr);
  facts.compiled->usage.local_bytes_per_thread = 0;
  EXPECT_EQ(find(diagnose(facts), Cause::spills), nullptr);
}

TEST(ByNumbers, ContentionSaysWhereResidentBlocksShowTheLoss) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 5280}, {.registers_per_thread = 32}, 60);
  facts.readings.counters.memory_stall_warps = 5;
  const auto said = [&](Real resident_blocks) {
    facts.readings.counters.resident_blocks = resident_blocks;
    return the(diagnose(facts), Cause::memory_contention).sentence;
  };
  EXPECT_EQ(said({}), "40 points: warps contend for memory, and may so end at different times.");
  EXPECT_THAT(said(4.96), HasSubstr(": 38 points are places without a block, 2 warps that have exited"));
  EXPECT_THAT(said(7.97), HasSubstr(": 0 points are places without a block, 40 warps that have exited"));
}

TEST(ByNumbers, WarpsThatWaitForAnIssueSlotAreNotToldThatMoreOfThemSaveTime) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 5280}, {.registers_per_thread = 64}, 48);
  facts.readings.counters.issue_active_pct = 92;
  for (const auto& [eligible, text] : {std::pair(3.0, "More warps can save 8 % of the time at most"),
                                       std::pair(5.1, "Low occupancy does no harm")}) {
    facts.readings.counters.eligible_warps = eligible;
    EXPECT_THAT(the(diagnose(facts), Cause::low_occupancy_suffices).sentence, HasSubstr(text));
  }
}

TEST(ByNumbers, TwoLimitsAreToldWithTheRulesOfBoth) {
  // One block by 168 registers x 384 threads, and one by 213,000 B.
  const LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 384, .grid_blocks = 132, .dynamic_shared_bytes = 213'000},
                 {.registers_per_thread = 168}, 18.7);
  EXPECT_THAT(the(diagnose(facts), Cause::register_limit).sentence,
              AllOf(HasSubstr("65,536 / 64,512 = 1 block; "), HasSubstr("= 1 block)")));
}

TEST(ByNumbers, APredictionAloneIsNoReadingOfFullOccupancy) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32});
  facts.prediction.emplace();
  facts.prediction->predicted_pct = 99.8;
  facts.prediction->predicted_elapsed_pct = 99.8;
  facts.work_is_inferred = true;
  EXPECT_EQ(explanation_of(facts),
            "Predicted within half a point of full occupancy, if its blocks are equal; no counter was read.");
}

TEST(ByNumbers, EqualBlocksThatAreMissingAreThoseOfTheLastWave) {
  // 32 registers: 8 blocks per SM; 2.75 waves of 1,056. A quarter of a block is missing, 3 points.
  const Launch launch{.block_threads = 256, .grid_blocks = 2904};
  LaunchFacts facts = by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 96.9);
  facts.readings.counters.resident_blocks = 7.75;
  facts.tail_of_equal_blocks = EqualTail{.points = 0.1, .least = 0, .most = 5};
  facts.work = parse_work("uniform:200000:0.5:1.5");
  EXPECT_EQ(the(diagnose(facts), Cause::uneven_blocks).confidence, Confidence::inferred);
  facts.work = Work::equal(200'000);
  const auto findings = diagnose(facts);
  EXPECT_EQ(find(findings, Cause::uneven_blocks), nullptr);
  EXPECT_NEAR(the(findings, Cause::tail).points, 3, 0.2);
  facts.work->issue_slots = 100'000;
  EXPECT_NE(find(diagnose(facts), Cause::uneven_blocks), nullptr) << "blocks that contend may become uneven";
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
  EXPECT_THAT(findings[0].remedy, HasSubstr("32 registers per thread instead of 33: 100 %, 4 blocks per SM"));
}

TEST(ByNumbers, AHundredKilobytesOfSharedMemoryLetTwoBlocksIn) {
  const Launch launch{.block_threads = 256, .grid_blocks = 264, .dynamic_shared_bytes = 100 * 1024};
  const auto findings = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 24.9));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].cause, Cause::shared_memory_limit);
  EXPECT_DOUBLE_EQ(findings[0].points, 75);
  EXPECT_DOUBLE_EQ(value_of(findings[0], "blocks_per_sm"), 2);
  // Four blocks share 228 KB, of which each has 1 KB reserved: 57,344 B. Two blocks of twice the threads fill as much.
  EXPECT_THAT(findings[0].remedy,
              AllOf(HasSubstr("512 threads per block instead of 256: 50 %, 2 blocks"),
                    HasSubstr("57344 B of shared memory per block instead of 102400 B: 50 %")));
}

TEST(ByNumbers, BlocksOfOneWarpFillHalfAndFewOfThemLess) {
  const auto findings = diagnose(
      by_numbers("10.0", 148, {.block_threads = 32, .grid_blocks = 512}, {.registers_per_thread = 32}));
  ASSERT_GE(findings.size(), 2U);
  const Finding limit = the(findings, Cause::block_size_limit);
  EXPECT_DOUBLE_EQ(limit.points, 50);  // 32 blocks of one warp
  EXPECT_THAT(limit.remedy, HasSubstr("64 threads per block instead of 32: 100 %"));
  const Finding grid = the(findings, Cause::small_grid);
  EXPECT_NEAR(grid.points, 50 - 100 * (512.0 / 148) / 64, 0.01);
}

TEST(ByNumbers, BlocksOf768ThreadsLeaveAQuarterOfAnSmAndALastWaveThatIsPartial) {
  const auto findings = diagnose(
      by_numbers("10.0", 148, {.block_threads = 768, .grid_blocks = 512}, {.registers_per_thread = 32}));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].cause, Cause::block_size_limit);
  EXPECT_DOUBLE_EQ(findings[0].points, 25);  // two blocks of 24 warps
  EXPECT_THAT(findings[0].remedy, AllOf(HasSubstr("512 threads per block instead of 768: 100 %, 4 blocks"),
                                        HasSubstr("1024 threads per block instead of 768: 100 %, 2 blocks")));
  EXPECT_EQ(findings[1].cause, Cause::tail);
  EXPECT_NEAR(findings[1].points, 75 * (1 - 512.0 / 296 / 2), 0.01);
  EXPECT_THAT(findings[1].sentence, HasSubstr("216 of 296"));
}

// What is said of recorded launches beside the points: what the counter and the calculator leave out.
std::optional<Finding> finding_of(const std::vector<Finding>& findings, Cause cause) {
  const auto found = std::ranges::find(findings, cause, &Finding::cause);
  return found == findings.end() ? std::nullopt : std::optional(*found);
}

/// Of the H200's recorded suite.
std::vector<Finding> findings_of(const std::string& name) {
  for (const CaseRecord& record : read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv")) {
    if (full_name(record.identity) == name) return diagnose(facts_of(record));
  }
  ADD_FAILURE() << "no row is called " << name;
  return {};
}

/// A grid of 1.25 waves, of blocks that take equally long: 87.7 % over active cycles, 62.5 % over elapsed ones.
LaunchFacts with_tail() {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 1320}, {.registers_per_thread = 32}, 87.7);
  facts.readings.achieved_elapsed_pct = 62.5;
  facts.readings.counters.issue_active_pct = 20;
  facts.readings.counters.dram_busy_pct = 10;
  facts.readings.counters.fp32_pipe_pct = 0;
  facts.times.time_us = 800;
  return facts;
}

TimeSaved saved_by(const LaunchFacts& facts, Cause cause) {
  const auto findings = diagnose(facts);
  const Finding* const finding = find(findings, cause);
  return finding == nullptr || !finding->time ? TimeSaved{-1, ""} : *finding->time;
}

TEST(TimeSaved, OfAPartialWaveIsWhatWholeWavesOfTheSameWorkTakeLess) {
  LaunchFacts facts = with_tail();
  // 1.25 waves take as long as two.
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 1.25 / 2, 0.001);
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence, "At most 0.3 of 0.8 ms per launch.");
  facts.program.total_time_us = 80'000;
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence,
            "At most 0.3 of 0.8 ms per launch, 30.0 of 80.0 ms in the run.");
  // Half of the time no SM is active.
  facts.readings.counters.sm_clock_mhz = 1000;
  facts.readings.counters.sm_cycles_active_max = 400'000;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 0.5 * (1 - 1.25 / 2), 0.001);
  // A caller that makes one launch of several spares the time around them as well.
  facts.library = library_of("ampere_sgemm_128x64_tn");
  ASSERT_NE(facts.library, nullptr);
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 1.25 / 2, 0.001);
}

TEST(TimeSaved, OfAKernelThatWaitsForOtherGpusIsNotKnown) {
  LaunchFacts facts =
      by_numbers("8.0", 108, {.block_threads = 544, .grid_blocks = 16}, {.registers_per_thread = 96}, 26);
  facts.library = library_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  ASSERT_NE(facts.library, nullptr);
  EXPECT_EQ(saved_by(facts, Cause::idle_sms).share, 0);
  EXPECT_THAT(saved_by(facts, Cause::idle_sms).sentence, HasSubstr("Not known: it waits for other GPUs"));
}

TEST(TimeSaved, OfSmsThatAPredictionLeavesIdleIsTold) {
  LaunchFacts facts =
      by_numbers("8.0", 108, {.block_threads = 1024, .grid_blocks = 300}, {.registers_per_thread = 40}, 0);
  facts.readings.counters.achieved_pct.reset();
  Prediction& prediction = facts.prediction.emplace();
  prediction.theoretical_pct = 50;
  prediction.predicted_pct = 50;
  prediction.predicted_elapsed_pct = 46.3;
  EXPECT_NEAR(saved_by(facts, Cause::idle_sms).share, 1 - 46.3 / 50, 0.001);
  EXPECT_EQ(the(diagnose(facts), Cause::idle_sms).confidence, Confidence::simulated);
}

TEST(TimeSaved, OfAPartialWaveIsNoMoreWhereMoreIsLostToSomethingElse) {
  LaunchFacts facts = with_tail();
  for (const bool elapsed_is_known : {true, false}) {
    for (const double part : {1.0, 0.7, 0.1}) {
      facts.readings.counters.achieved_pct = 87.7 * part;
      facts.readings.achieved_elapsed_pct = elapsed_is_known ? Real(62.5 * part) : Real();
      EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 1.25 / 2, 0.001) << part;
    }
  }
  // Half a wave of blocks that fill half of what they could.
  facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 528}, {.registers_per_thread = 32}, 25);
  EXPECT_NEAR(saved_by(facts, Cause::small_grid).share, 0.5, 0.001);
}

TEST(TimeSaved, OfSpillsIsNoneWhereBuildsOfMoreRegistersAreNoFaster) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 132 * 16},
                                 {.registers_per_thread = 128}, 24);
  facts.compiled->usage.local_bytes_per_thread = 64;
  facts.readings.counters.local_sectors = 1e9;
  facts.times.time_us = 776;
  facts.others.roomier =
      OtherBuild{.build = "cap_255", .registers_per_thread = 155, .least_registers = 144, .time_us = 1277};
  EXPECT_EQ(saved_by(facts, Cause::spills).sentence,
            "None found: 1.28 instead of 0.776 ms per launch were measured with 155 registers (cap_255).");
  EXPECT_EQ(saved_by(facts, Cause::spills).share, 0);
  EXPECT_THAT(the(diagnose(facts), Cause::spills).remedy,
              HasSubstr("no build of more registers that was measured is faster; the least of them has 144"));
  facts.others.roomier->time_us = 760;
  EXPECT_EQ(saved_by(facts, Cause::spills).sentence,
            "0.76 instead of 0.776 ms per launch were measured with 155 registers (cap_255).");
  EXPECT_THAT(the(diagnose(facts), Cause::spills).remedy, HasSubstr("Allow more than 128 registers"));
}

TEST(TimeSaved, IsBroughtByTheClaimOfItsCause) {
  LaunchFacts facts = with_tail();
  facts.compiled->usage.local_bytes_per_thread = 64;
  facts.readings.counters.local_sectors = 1e9;
  const Situation situation = situation_of(facts).value();
  EXPECT_EQ(spills(situation)->time->sentence, "Not known: compare with a build of more registers.");
  const Claim last_wave = tail(situation).value();
  EXPECT_NEAR(last_wave.time_ratio(last_wave, situation), 1.25 / 2, 0.001);
  EXPECT_FALSE(Claim().time_ratio) << "of what no cause explains occupancy tells no time";
}

TEST(TimeSaved, EndsWhereTheBusiestResourceWouldBeSaturated) {
  LaunchFacts facts = with_tail();
  facts.readings.counters.dram_busy_pct = 75;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 0.25, 0.001);
  facts.readings.counters.dram_busy_pct = 93;
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence,
            "At most 0.056 of 0.8 ms per launch, since dram_busy_pct is 93 %.");
  facts.readings.counters.dram_busy_pct = 99.5;
  EXPECT_EQ(saved_by(facts, Cause::tail).share, 0);
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence, "None expected: dram_busy_pct is 100 %.");
  // Issue slots are counted while SMs are active, which they are for 62.5 / 87.7 of the time.
  facts.readings.counters.dram_busy_pct.reset();
  facts.readings.counters.issue_active_pct = 100;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 62.5 / 87.7, 0.001);
  EXPECT_THAT(saved_by(facts, Cause::tail).sentence,
              HasSubstr("; not if device memory is saturated, which was not read"));
  // As much where a pipe that was not read keeps its warps waiting while they are eligible.
  facts.readings.counters.issue_active_pct = 40;
  facts.readings.counters.eligible_warps = 5;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 62.5 / 87.7, 0.001);
  facts.readings.achieved_elapsed_pct = 87.7;
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence, "None expected: eligible_warps is 5.");
}

TEST(TimeSaved, OfContentionIsByOccupancyAlone) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 1056}, {.registers_per_thread = 32}, 80);
  facts.readings.counters.dram_busy_pct = 93;
  EXPECT_THAT(saved_by(facts, Cause::memory_contention).sentence,
              AllOf(testing::StartsWith("At most 7 % of it, since dram_busy_pct is 93 %"),
                    HasSubstr("less work for what is contended for can save more")));
}

TEST(TimeSaved, IsNoneWhereOtherKernelsRunBesideIt) {
  LaunchFacts facts = with_tail();
  facts.program.streams = "7";
  EXPECT_GT(saved_by(facts, Cause::tail).share, 0);
  facts.program.streams = "7+13";
  EXPECT_EQ(saved_by(facts, Cause::tail).share, 0);
  EXPECT_THAT(saved_by(facts, Cause::tail).sentence,
              HasSubstr("None expected: launches run in several streams"));
}

TEST(TimeSaved, OfALimitIsByTheHighestOccupancyOfOneStep) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 512, .grid_blocks = 132 * 12},
                                 {.registers_per_thread = 33}, 75);
  facts.times.time_us = 400;
  EXPECT_EQ(
      saved_by(facts, Cause::register_limit).sentence,
      "At most 0.1 of 0.4 ms per launch, if warps wait for latency rather than for memory or issue slots.");
  facts.compiled->usage.local_bytes_per_thread = 64;
  facts.readings.counters.local_sectors = 1e9;
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence,
              HasSubstr("None expected: registers are spilled"));
  // More registers can make warps faster: what that saves is not told by occupancy.
  facts.readings.counters.achieved_pct = 60;
  EXPECT_EQ(saved_by(facts, Cause::spills).sentence, "Not known: compare with a build of more registers.");
}

TEST(TimeSaved, OfALimitIsNoneWhereTheGridFillsNoPlaces) {
  const LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 90}, {.registers_per_thread = 64}, 6);
  EXPECT_EQ(saved_by(facts, Cause::register_limit).share, 0);
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence,
              HasSubstr("the grid does not fill the places"));
}

TEST(TimeSaved, OfIdleSmsIsNoneWhereWarpsWaitForAnAddress) {
  const auto findings = findings_of("atomic_operations/atomic_operations/add/addresses=one/operation=add");
  const auto atomics = finding_of(findings, Cause::atomics);
  ASSERT_TRUE(atomics && atomics->time);
  // Sums in a block take 1/198 of the time, which no occupancy tells.
  EXPECT_THAT(atomics->time->sentence, HasSubstr("Not known: compare with sums in a block first"));
  const auto idle = finding_of(findings, Cause::idle_sms);
  ASSERT_TRUE(idle && idle->time);
  EXPECT_EQ(idle->time->share, 0);
  EXPECT_THAT(idle->time->sentence, HasSubstr("wait for an address"));
}

TEST(ByNumbers, ALastWaveIsNamedWhereTheCounterShowsNoLossSinceItLeavesIdleSmsOut) {
  // 1.25 waves.
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 1320}, {.registers_per_thread = 32}, 99.8);
  const auto idle = finding_of(diagnose(facts), Cause::idle_sms);
  ASSERT_TRUE(idle && idle->time);
  EXPECT_THAT(idle->sentence, AllOf(HasSubstr("If blocks are equal"), HasSubstr("38 points over elapsed")));
  EXPECT_NEAR(idle->time->share, 1 - 1.25 / 2, 0.001);
  facts.readings.achieved_elapsed_pct = 99.7;
  EXPECT_FALSE(finding_of(diagnose(facts), Cause::idle_sms));
}

TEST(RecordedRow, OfBusyMemoryGainsNoMoreByMoreWarpsThanIsSaid) {
  std::map<std::string, std::vector<CaseRecord>> by_variant;
  for (CaseRecord& record : read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv")) {
    if (record.identity.experiment == "latency_hiding" && record.readings.counters.sm_cycles_active_avg)
      by_variant[record.identity.variant].push_back(std::move(record));
  }
  // Useful work in an active cycle, of which uses are shares.
  const auto rate = [](const CaseRecord& of) {
    return *of.times.throughput * *of.times.time_us / *of.readings.counters.sm_cycles_active_avg;
  };
  int rows = 0;
  for (const auto& [variant, records] : by_variant) {
    const double fastest = std::ranges::max(records | std::views::transform(rate));
    for (const CaseRecord& each : records) {
      const auto finding = finding_of(diagnose(facts_of(each)), Cause::low_occupancy_suffices);
      if (!finding) continue;
      ++rows;
      // What it says is left is 100 % less this use.
      EXPECT_LT(1 - rate(each) / fastest, 1.01 - finding->evidence.front().value / 100) << variant;
    }
  }
  EXPECT_GT(rows, 10);
}

TEST(RecordedRow, OccupancyMayHelpUntilMemoryIsFull) {
  const auto finding = finding_of(findings_of("latency_hiding/reads/bytes_8_in_flight_8/bytes=8/in_flight=8/"
                                              "blocks_per_sm=3"),
                                  Cause::low_occupancy_suffices);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->sentence, HasSubstr("More warps can save 19 % of the time at most"));
}

TEST(AKernelOfALibrary, IsGivenNoAdviceThatOnlyItsAuthorCanFollow) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 512, .grid_blocks = 64}, {.registers_per_thread = 48}, 24.5);
  facts.library = library_of("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(cudnnTensorStruct)");
  ASSERT_NE(facts.library, nullptr);
  const auto findings = diagnose(facts);
  ASSERT_GE(findings.size(), 3U);
  for (const Finding& finding : findings) {
    if (finding.cause == Cause::unexplained) continue;
    EXPECT_THAT(finding.remedy, testing::StartsWith("This kernel belongs to cuDNN: its caller can "));
    EXPECT_FALSE(finding.advice);
  }
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence, HasSubstr("None expected: the library chose"));
  // Its points are those of anybody's kernel.
  const double points = find(findings, Cause::small_grid)->points;
  facts.library = nullptr;
  const auto own = diagnose(facts);
  EXPECT_EQ(find(own, Cause::small_grid)->points, points);
  EXPECT_THAT(find(own, Cause::register_limit)->remedy, HasSubstr("__maxnreg__"));
}

TEST(AKernelOfALibrary, ThatIsLaunchedOnlyToTuneCanBeSpared) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 1, .grid_blocks = 1}, {.registers_per_thread = 16}, 1.56);
  EXPECT_LT(saved_by(facts, Cause::small_grid).share, 1);
  facts.library = library_of("stream_executor::gpu::(anonymous namespace)::DelayKernel(int)");
  EXPECT_EQ(saved_by(facts, Cause::small_grid).share, 1) << "compiled code that is kept spares it";
}

TEST(ByNumbers, ShortBlocksAreACauseWhereTheTimeOfTheLaunchSaysSo) {
  // 100 waves in 65 us at 2 GHz: 1,300 cycles a block, nearly all of which giving blocks out takes.
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 105'600},
                                 {.registers_per_thread = 32}, 50);
  EXPECT_EQ(diagnose(facts).front().cause, Cause::unexplained);
  facts.most_cycles_active = 130'000;
  const auto findings = diagnose(facts);
  EXPECT_EQ(findings.front().cause, Cause::overhead);
  EXPECT_THAT(findings.front().sentence, HasSubstr("at most 1,300 cycles"));
  facts.times.time_us = 65;
  // What a block does before and after its work fills its place.
  EXPECT_THAT(
      saved_by(facts, Cause::overhead).sentence,
      AllOf(HasSubstr("At most "), testing::EndsWith(" This is by occupancy alone: longer blocks also begin "
                                                     "and end less often.")));
}

TEST(TimeSaved, OfAKernelThatItsCallerCanSpareIsAllOfIt) {
  LaunchFacts facts = with_tail();
  facts.times.time_us = 44;
  facts.library =
      library_of("void cudnn::ops::nhwcToNchwKernel<float, float>(cudnn::ops::nhwc2nchw_params_t<float>)");
  ASSERT_TRUE(facts.library);
  EXPECT_EQ(saved_by(facts, Cause::tail).share, 1);
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence,
            "At most 0.044 of 0.044 ms per launch: what its caller can do spares it.");
}

TEST(TimeSaved, OfAKernelThatUsesSharedMemorySaysThatItWasNotRead) {
  const auto said = [](const std::string& name) {
    const auto findings = findings_of(name);
    return finding_of(findings, Cause::shared_memory_limit)->time->sentence;
  };
  // The same kernel with 8 blocks on an SM takes 1.3 % less.
  EXPECT_THAT(
      said("lower_occupancy_faster/results_per_thread/product_4/body=product/results=4/blocks_per_sm=6"),
      testing::EndsWith("; not if shared memory is saturated, which was not read."));
}

TEST(RecordedRow, FewWarpsThatWaitForIdleMemoryAreToldOfMoreLoadsInFlight) {
  const auto limit = [](const std::string& name) {
    return finding_of(findings_of(name), Cause::shared_memory_limit)->remedy;
  };
  // 177 GB/s; 3,142 GB/s with 16 bytes and 8 loads in flight, at the same occupancy.
  EXPECT_THAT(
      limit("latency_hiding/reads/bytes_4_in_flight_1/bytes=4/in_flight=1/blocks_per_sm=1"),
      HasSubstr("Warps wait for memory, and the device's is 3 % busy: more or wider loads in flight"));
  EXPECT_THAT(limit("latency_hiding/reads/bytes_16_in_flight_8/bytes=16/in_flight=8/blocks_per_sm=4"),
              testing::Not(HasSubstr("loads in flight")));
}

TEST(RecordedRow, OfAProgramWithANameOfCMayBeTritons) {
  const std::string programs = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/";
  int limited = 0;
  for (const CaseRecord& record : read_case_records(programs + "triton_kernels.csv")) {
    for (const Finding& finding : diagnose(facts_of(record))) {
      const bool is_tritons = record.identity.kernel == "product";
      if (finding.cause == Cause::register_limit && is_tritons) ++limited;
      const bool says_so = finding.remedy.find("If it is Triton's, num_warps") != finding.remedy.npos;
      EXPECT_EQ(says_so, is_tritons && finding.advice) << record.identity.kernel << to_string(finding.cause);
    }
  }
  EXPECT_GT(limited, 0);
  for (const CaseRecord& record : read_case_records(programs + "sample.csv")) {
    for (const Finding& finding : diagnose(facts_of(record)))
      EXPECT_EQ(finding.remedy.find("Triton"), finding.remedy.npos) << record.identity.kernel;
  }
}

TEST(RecordedRow, ABlockOfOneThreadIsCountedAsAWholeWarp) {
  const auto lanes = finding_of(findings_of("partial_warps/spin/plain/block_threads=1"), Cause::idle_lanes);
  ASSERT_TRUE(lanes);
  EXPECT_DOUBLE_EQ(lanes->points, 0);
  // 32 blocks of one thread, of 2,048 threads that an SM can hold: 1.56 %.
  EXPECT_THAT(lanes->sentence, AllOf(HasSubstr("counts warps, not threads"), HasSubstr("31 of 32 lanes"),
                                     HasSubstr("1.55 % of the threads")));
  EXPECT_THAT(lanes->remedy, HasSubstr("multiple of 32"));
}

TEST(RecordedRow, WholeWarpsHaveNoIdleLanes) {
  EXPECT_FALSE(finding_of(findings_of("partial_warps/spin/plain/block_threads=32"), Cause::idle_lanes));
  EXPECT_FALSE(finding_of(findings_of("partial_warps/spin/plain/block_threads=64"), Cause::idle_lanes));
  EXPECT_FALSE(finding_of(findings_of("partial_warps/spin/plain/block_threads=31"), Cause::idle_lanes));
}

TEST(RecordedRow, ThreadZeroAloneLosesTheWarpsThatHaveExited) {
  // Whatever the one thread does: its warp may wait for memory, and the other seven have exited.
  for (const std::string form : {"atomic", "plain", "relaxed"}) {
    const auto findings = findings_of("data_race/data_race/" + form + "_block/form=" + form +
                                      "/adders=block/sms=132/blocks=132");
    const auto warps = finding_of(findings, Cause::uneven_warps);
    ASSERT_TRUE(warps) << form;
    EXPECT_THAT(warps->sentence, HasSubstr("warps have exited"));
    EXPECT_FALSE(finding_of(findings, Cause::memory_contention)) << form;
  }
}

TEST(RecordedRow, SharedMemoryThatNoBlockNeedsIsTakenFromL1) {
  const auto unused = finding_of(findings_of("l1_carveout/l1_reuse/plain/kilobytes=64/carveout_pct=100"),
                                 Cause::unused_shared_memory);
  ASSERT_TRUE(unused);
  // 228 KiB are kept, and the driver reserves 1 KiB for each of 8 blocks, which 8 KiB hold.
  EXPECT_THAT(unused->sentence, AllOf(HasSubstr("100 %"), HasSubstr("233,472 B"), HasSubstr("8,192 B")));
  EXPECT_THAT(unused->remedy, AllOf(HasSubstr("0 % as the carveout"), HasSubstr("225,280 B more")));
}

TEST(RecordedRow, ACarveoutThatBlocksNeedIsNotUnused) {
  EXPECT_FALSE(finding_of(findings_of("l1_carveout/l1_reuse/plain/kilobytes=64/carveout_pct=0"),
                          Cause::unused_shared_memory));
  // A quarter limits the blocks.
  EXPECT_FALSE(
      finding_of(findings_of("shared_memory/shared_staging/dynamic/block_threads=256/dynamic_bytes=8192/"
                             "carveout_pct=25"),
                 Cause::unused_shared_memory));
  // The driver chose: what it kept is not known.
  EXPECT_FALSE(finding_of(findings_of("waves/spin/plain/waves=1.00"), Cause::unused_shared_memory));
}

TEST(RecordedRow, LowOccupancyDoesNoHarmWhereIssueSlotsAreSaturated) {
  const auto enough =
      finding_of(findings_of("latency_hiding/fma_chains/multiply_add_8/chains=8/blocks_per_sm=2"),
                 Cause::low_occupancy_suffices);
  ASSERT_TRUE(enough);
  EXPECT_THAT(enough->sentence, AllOf(HasSubstr("does no harm"), HasSubstr("issue_active_pct is 100 %")));
}

TEST(RecordedRow, LowOccupancyIsNotExcusedByIssueSlotsOfSmsThatAreBusyForPartOfTheTime) {
  // Occupancy is 31.8 % over active cycles and 23.9 % over elapsed cycles; spread evenly the same work takes 0.75 of
  // the time.
  const auto findings = findings_of(
      "equal_work/fma_chains/multiply_add_4/problem=blocks_that_sms_do_not_share_evenly/remedy=none");
  EXPECT_TRUE(finding_of(findings, Cause::idle_sms));
  EXPECT_FALSE(finding_of(findings, Cause::low_occupancy_suffices));
  EXPECT_THAT(the(findings, Cause::small_grid).remedy,
              HasSubstr("narrower blocks, equally many on each SM: now some SMs have 2 and others 1"));
}

TEST(RecordedRow, WarpsThatWaitForMemoryThatIsNotBusyAreToldToHaveMoreLoadsInFlight) {
  // Four loads in flight give twice the throughput at this occupancy.
  const auto waits =
      finding_of(findings_of("latency_hiding/reads/bytes_4_in_flight_1/bytes=4/in_flight=1/blocks_per_sm=8"),
                 Cause::memory_contention);
  ASSERT_TRUE(waits);
  EXPECT_THAT(waits->remedy, HasSubstr("more loads in flight"));
}

TEST(TimeSaved, OfRegistersIsWhatABuildOfFewerWasMeasuredToSave) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 132 * 12},
                                 {.registers_per_thread = 155}, 18);
  facts.times.time_us = 835;
  facts.others.faster =
      OtherBuild{.build = "cap_128", .registers_per_thread = 128, .achieved_pct = 24, .time_us = 748};
  EXPECT_EQ(saved_by(facts, Cause::register_limit).sentence,
            "0.748 instead of 0.835 ms per launch were measured with cap_128.");
  facts.others.faster->registers_per_thread = 168;
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence, testing::Not(HasSubstr("were measured")));
}

TEST(RecordedRow, WarpsThatWaitForIdleMemoryAreToldOfItsLatency) {
  const auto waits = finding_of(
      findings_of("data_race/data_race/relaxed_thread/form=relaxed/adders=thread/sms=132/blocks=1056"),
      Cause::memory_contention);
  ASSERT_TRUE(waits);
  EXPECT_THAT(waits->sentence, HasSubstr("wait for memory, of which the device's is 0 % busy"));
  EXPECT_THAT(waits->remedy,
              AllOf(HasSubstr("one address"), HasSubstr("unless L2 is busy, which was not read")));
  ASSERT_TRUE(waits->time);
  EXPECT_THAT(waits->time->sentence, HasSubstr("not if L2 is saturated, which was not read"));
}

}  // namespace
}  // namespace occbench
