// Questions that people ask about launches of which they know numbers alone.
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "by_numbers.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_EQ(tail.remedy, "Use smaller clusters, or more and shorter blocks.");
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
  EXPECT_FALSE(find(cause(384, 71680, 1116, 6, 55.32), Cause::clusters));
  EXPECT_FALSE(find(cause(384, 71680, 372, 6, 53), Cause::clusters));
  EXPECT_FALSE(find(cause(384, 71680, 372, 6, 53), Cause::small_grid)) << "a full wave of clusters";
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
    facts.readings.counters.dram_busy_pct = facts.readings.counters.fma_use_pct = 1;
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
              HasSubstr("1,600 blocks more, 2,112 in all, cost no further time "
                        "(issue_active_pct is 20 %) unless L1 or L2 or another pipe is busy"));
}

TEST(ByNumbers, BlocksMoreCostNoTimeWhereTheyDoNotWaitForEachOtherAtAnAddress) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 132}, {.registers_per_thread = 32}, 12.5);
  const auto remedy_of = [&](double atomics, double waiting_warps) {
    facts.readings.counters.issue_active_pct = 5;
    facts.readings.counters.dram_busy_pct = facts.readings.counters.fma_use_pct = 1;
    facts.readings.counters.atomic_requests = atomics;
    facts.readings.counters.memory_stall_warps = waiting_warps;
    return the(diagnose(facts), Cause::small_grid).remedy;
  };
  const auto on_condition = HasSubstr(
      "924 blocks more, 1,056 in all, cost no further time if they use addresses of their own "
      "(issue_active_pct");
  EXPECT_THAT(remedy_of(0, 0), HasSubstr("cost no further time (issue_active_pct"));
  EXPECT_THAT(remedy_of(1, 0), on_condition);
  // A scheduler has two active warps.
  EXPECT_THAT(remedy_of(0, 0.4), HasSubstr("cost no further time (issue_active_pct"));
  EXPECT_THAT(remedy_of(0, 0.6), on_condition);
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
  facts.readings.counters.fma_use_pct = 20;
  EXPECT_THAT(
      the(diagnose(facts), Cause::small_grid).remedy,
      HasSubstr("264 blocks more, 396 in all, cost no further time (issue_active_pct is 31 %) unless device "
                "memory or L1 or L2 or shared memory or another pipe is busy, which was not read; or"));
}

TEST(ByNumbers, FewerBlocksThanSmsReadOneBlockAnSmAndNoMore) {
  const Launch launch{.block_threads = 256, .grid_blocks = 100};
  const auto findings = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 12.5));
  EXPECT_EQ(findings.at(0).cause, Cause::small_grid);
  EXPECT_DOUBLE_EQ(findings[0].points, 87.5);
  EXPECT_THAT(findings[0].sentence, HasSubstr("12.5 % at most"));
  const Finding idle = the(findings, Cause::idle_sms);
  EXPECT_THAT(idle.sentence, HasSubstr("32 of 132 SMs get no block"));
  EXPECT_FALSE(find(findings, Cause::another_launch));

  const auto more = diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, 31.0));
  const Finding another = the(more, Cause::another_launch);
  EXPECT_EQ(more.front().cause, Cause::another_launch);
  // No cause has points by a counter that is not this launch's.
  EXPECT_DOUBLE_EQ(another.points, 69);
  EXPECT_FALSE(find(more, Cause::small_grid));
  EXPECT_THAT(another.sentence, AllOf(HasSubstr("can reach 12.5 %"), HasSubstr("an achieved 31 %"),
                                      HasSubstr("another launch")));
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

TEST(ByNumbers, OverheadsOfAGpuThatNobodyMeasuredAreThoseOfAnH100) {
  const auto said = [](const char* capability) {
    LaunchFacts facts = by_numbers(capability, 40, {.block_threads = 256, .grid_blocks = 960},
                                   {.registers_per_thread = 32}, 70);
    facts.most_cycles_active = 79'500;
    return the(diagnose(facts), Cause::overhead).sentence;
  };
  EXPECT_THAT(said("7.5"),
              HasSubstr("launching and replacing blocks at the pace of an H100 (unverified here) takes"));
  EXPECT_THAT(said("9.0"), HasSubstr("launching and replacing blocks takes"));
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
    return find(findings, Cause::idle_sms).has_value();
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
    return find(findings, Cause::prediction_differs).has_value();
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
  EXPECT_FALSE(find(settled, Cause::unexplained));
  const Finding warps = the(settled, Cause::uneven_warps);
  EXPECT_NEAR(warps.points, 100 * 3.9 / 8 - 31, 0.1);
  EXPECT_EQ(warps.confidence, Confidence::inferred);
  EXPECT_THAT(warps.sentence,
              HasSubstr("uneven, or contend for memory or issue slots or a pipe, which were not read"));
  // With what they may contend for it is known.
  facts.readings.counters.issue_active_pct = 20;
  facts.readings.counters.dram_busy_pct = 10;
  EXPECT_THAT(the(diagnose(facts), Cause::uneven_warps).sentence,
              HasSubstr("or contend for L1 or L2 or a pipe, which were not read"));
  CounterValues& read = facts.readings.counters;
  read.fma_use_pct = 10;
  EXPECT_THAT(the(diagnose(facts), Cause::uneven_warps).sentence,
              HasSubstr("or contend for L1 or L2 or another pipe, which were not read"));
  read.alu_use_pct = read.fp64_use_pct = read.xu_use_pct = read.tensor_use_pct = 10;
  read.l1_use_pct = read.l2_use_pct = 10;
  EXPECT_EQ(the(diagnose(facts), Cause::uneven_warps).confidence, Confidence::measured);
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

TEST(ByNumbers, LocalSectorsThatAreFewForTheTimeExplainNothing) {
  LaunchFacts facts = by_numbers("8.0", 108, {.block_threads = 128, .grid_blocks = 3240},
                                 {.registers_per_thread = 168, .local_bytes_per_thread = 64}, 7.5);
  facts.readings.counters.resident_blocks = 1.2;
  const auto cause = [&](double sectors, double cycles) {
    facts.readings.counters.local_sectors = sectors;
    facts.readings.counters.sm_cycles_active_avg = cycles;
    const auto findings = diagnose(facts);
    return std::pair(find(findings, Cause::uneven_blocks).has_value(), the(findings, Cause::spills).list);
  };
  // 0.4 GB in 4 s.
  EXPECT_EQ(cause(13e6, 3.6e9), std::pair(true, FindingList::remarks));
  EXPECT_EQ(cause(1e9, 3.6e9), std::pair(true, FindingList::remarks));
  EXPECT_EQ(cause(1e9, 2e7).second, FindingList::losses);
}

TEST(ByNumbers, LocalSectorsShowSpillsUnlessThereIsNoLocalMemory) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 384, .grid_blocks = 5000}, {.registers_per_thread = 40}, 48);
  facts.readings.counters.local_sectors = 9e7;
  facts.readings.counters.memory_stall_warps = 5;
  EXPECT_EQ(diagnose(facts).front().cause, Cause::spills);
  EXPECT_FALSE(find(diagnose(facts), Cause::memory_contention));
  facts.compiled->usage.local_bytes_per_thread = 0;
  EXPECT_FALSE(find(diagnose(facts), Cause::spills));
}

TEST(ByNumbers, LittleLocalMemoryCostsNoOccupancy) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  facts.readings.counters.local_sectors = 5.0 * 8 * 10560;
  const Finding little = the(diagnose(facts), Cause::spills);
  EXPECT_EQ(little.list, FindingList::remarks);
  EXPECT_EQ(little.points, 0);
  facts.readings.counters.local_sectors = 1784.0 * 8 * 10560;
  EXPECT_GT(the(diagnose(facts), Cause::spills).points, 10);
}

TEST(ByNumbers, LocalMemoryIsOfSpillsWhereTheCompilerSaysSoAndElseMayBeOfArrays) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 72}, 20);
  facts.readings.counters.local_sectors = 2e8;
  const auto spills = [&] { return the(diagnose(facts), Cause::spills); };
  const auto of_limit = [&] { return saved_by(facts, Cause::register_limit).sentence; };
  EXPECT_THAT(spills().sentence,
              HasSubstr("points: each warp moves 75.8 KB to and from local memory, for spills "
                        "or arrays, and warps"));
  EXPECT_THAT(spills().remedy,
              AllOf(HasSubstr("Allow more than 72 registers"), HasSubstr("which -Xptxas -v shows")));
  EXPECT_THAT(of_limit(), HasSubstr("Not known: if its local memory is of spills"));
  facts.compiled->spill_bytes = 300;
  EXPECT_THAT(spills().sentence, HasSubstr("points: registers are spilled: each warp moves 75.8 KB"));
  EXPECT_THAT(spills().remedy, testing::Not(HasSubstr("-Xptxas")));
  EXPECT_THAT(of_limit(), HasSubstr("None expected: registers are spilled already"));
}

TEST(ByNumbers, NoMoreRegistersAreAdvisedThanAThreadOfTheBlockCanHave) {
  const auto said = [](int block_threads, int registers) {
    LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = block_threads, .grid_blocks = 10560},
                                   {.registers_per_thread = registers}, 9);
    facts.readings.counters.local_sectors = 1e9;
    const Finding spills = the(diagnose(facts), Cause::spills);
    return spills.remedy + spills.time->sentence;
  };
  for (const auto& [block_threads, registers] : {std::pair(256, 255), std::pair(1024, 64)})
    EXPECT_THAT(said(block_threads, registers),
                AllOf(HasSubstr(fmt::format("can have no more than {} registers", registers)),
                      HasSubstr("compare with a build that keeps less alive")));
  EXPECT_THAT(said(256, 254), HasSubstr("Allow more than 254 registers"));
  EXPECT_THAT(said(1024, 63), HasSubstr("Allow more than 63 registers"));
}

/// A grid that is resident at once takes as long with fuller warps.
TEST(ByNumbers, IdleLanesCostTimeWhereFewerWarpsTakeFewerRounds) {
  const auto saved = [](std::int64_t blocks) {
    const auto findings = diagnose(by_numbers("9.0", 132, {.block_threads = 16, .grid_blocks = blocks},
                                              {.registers_per_thread = 32}, 45));
    const Finding lanes = the(findings, Cause::idle_lanes);
    return lanes.time ? lanes.time->share : 0;
  };
  EXPECT_EQ(saved(132 * 32), 0);
  EXPECT_EQ(saved(132 * 32 * 10), 0.5);
}

TEST(ByNumbers, ContentionSaysWhereResidentBlocksShowTheLossAndWhatToDoIfWorkIsUneven) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 5280}, {.registers_per_thread = 32}, 72);
  facts.readings.counters.memory_stall_warps = 6;
  const auto said = [&](Real resident_blocks) {
    facts.readings.counters.resident_blocks = resident_blocks;
    return the(diagnose(facts), Cause::memory_contention);
  };
  EXPECT_EQ(said({}).sentence, "28 points: warps contend for memory, and may so end at different times.");
  EXPECT_THAT(said({}).remedy, testing::Not(HasSubstr("unequal work")));
  EXPECT_THAT(said(5.96).sentence,
              HasSubstr(": places without a block are 26 of 28 points below theory, warps "
                        "that have exited or not begun 2."));
  EXPECT_THAT(said(5.96).remedy,
              HasSubstr("If blocks have unequal work, divide it among more and shorter ones first."));
  EXPECT_THAT(said(7.97).sentence,
              HasSubstr(": places without a block are 0 of 28 points below theory, warps "
                        "that have exited or not begun 28."));
  EXPECT_THAT(said(7.97).remedy,
              HasSubstr("If the warps of a block have unequal work, give them equal shares"));
  facts.work = parse_work("equal:80000:bytes=65536");
  EXPECT_THAT(said(7.97).remedy, testing::Not(HasSubstr("unequal work")));
}

/// Waiting for memory is no cause of its own where more is missing than equal work that waits was recorded to lose.
TEST(ByNumbers, ThirdsOfPlacesAndWarpsThatAreMissingAreUnevenHoweverManyWaitForMemory) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32});
  facts.most_cycles_active = 1e6;
  CounterValues& counters = facts.readings.counters;
  counters.issue_active_pct = 8;
  counters.eligible_warps = 0.1;
  counters.fma_use_pct = counters.alu_use_pct = counters.fp64_use_pct = counters.xu_use_pct =
      counters.tensor_use_pct = 5;
  const auto first = [&](double achieved, double resident_blocks, double dram_busy_pct, double stalled) {
    counters.achieved_pct = achieved;
    counters.resident_blocks = resident_blocks;
    counters.dram_busy_pct = dram_busy_pct;
    counters.memory_stall_warps = stalled * 16 * achieved / 100;
    return diagnose(facts).at(0);
  };
  for (const double dram_busy_pct : {10.0, 60.0}) {
    for (const double stalled : {0.2, 0.49, 0.51, 0.9}) {
      const Finding warps = first(60, 7.95, dram_busy_pct, stalled);
      EXPECT_EQ(warps.cause, Cause::uneven_warps) << dram_busy_pct << " " << stalled;
      EXPECT_EQ(warps.confidence, Confidence::measured);
      EXPECT_NEAR(warps.points, 39.4, 0.1);
      EXPECT_EQ(warps.remedy.find("Most warps wait for memory: if their work is equal") != std::string::npos,
                stalled > 0.5);
      const Finding blocks = first(55, 4.8, dram_busy_pct, stalled);
      EXPECT_EQ(blocks.cause, Cause::uneven_blocks) << dram_busy_pct << " " << stalled;
      EXPECT_EQ(blocks.confidence, Confidence::measured);
      EXPECT_NEAR(blocks.points, 40, 0.5);
      EXPECT_EQ(blocks.remedy.find("Most warps wait for memory: if their work is equal") != std::string::npos,
                stalled > 0.5);
    }
    EXPECT_EQ(first(70, 7.95, dram_busy_pct, 0.9).cause, Cause::memory_contention);
    EXPECT_EQ(first(65, 5.5, dram_busy_pct, 0.9).cause, Cause::memory_contention);
  }
  // What the grid alone leaves empty is not counted.
  facts.launch->grid_blocks = 528;
  EXPECT_EQ(first(40, 4, 60, 0.9).cause, Cause::small_grid);
  EXPECT_TRUE(find(diagnose(facts), Cause::memory_contention));
}

TEST(ByNumbers, AnSmThatHoldsOneBlockLosesWarpsAlone) {
  const std::pair<Launch, int> launches[] = {{{.block_threads = 1024, .grid_blocks = 1320}, 64},
                                             {{.block_threads = 1024, .grid_blocks = 100}, 20}};
  for (const auto& [launch, registers] : launches) {
    LaunchFacts facts = by_numbers("9.0", 132, launch, {.registers_per_thread = registers}, 30);
    const auto unread = diagnose(facts);
    EXPECT_NEAR(the(unread, Cause::uneven_warps).points, 20, 1e-9);
    EXPECT_FALSE(find(unread, Cause::unexplained));
    facts.readings.counters.resident_blocks = 1;
    EXPECT_EQ(the(diagnose(facts), Cause::uneven_warps).confidence,
              the(unread, Cause::uneven_warps).confidence);
  }
  // Blocks of clusters may share an SM.
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 1024, .grid_blocks = 100, .cluster_blocks = 2},
                                 {.registers_per_thread = 20}, 30);
  EXPECT_FALSE(find(diagnose(facts), Cause::uneven_warps));
}

/// An address takes 0.27 additions a cycle, so that a request of 32 lanes keeps it busy for 119 cycles.
TEST(ByNumbers, AtomicsAreBlamedByTheirRateWhichNeedsATimeAndEligibleWarps) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  CounterValues& counters = facts.readings.counters;
  counters.atomic_requests = 84'480;  // one a warp
  counters.eligible_warps = 0.3;
  const auto are_blamed = [&] { return find(diagnose(facts), Cause::atomics).has_value(); };
  EXPECT_FALSE(are_blamed()) << "no time was read";
  for (std::optional<double>* const cycles :
       {&counters.sm_cycles_active_max, &counters.sm_cycles_active_avg, &facts.most_cycles_active}) {
    *cycles = 84'480 * 469.0;
    EXPECT_FALSE(are_blamed());
    *cycles = 84'480 * 47.0;
    EXPECT_TRUE(are_blamed());
    cycles->reset();
  }
  facts.most_cycles_active = 84'480 * 47.0;
  counters.eligible_warps.reset();
  EXPECT_FALSE(are_blamed()) << "whether warps wait was not read";
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
  EXPECT_FALSE(find(findings, Cause::uneven_blocks));
  EXPECT_NEAR(the(findings, Cause::tail).points, 3, 0.2);
  facts.work->issue_slots = 100'000;
  EXPECT_TRUE(find(diagnose(facts), Cause::uneven_blocks)) << "blocks that contend may become uneven";
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

TEST(ByNumbers, ALastWaveIsNamedWhereTheCounterShowsNoLossSinceItLeavesIdleSmsOut) {
  // 1.25 waves.
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 1320}, {.registers_per_thread = 32}, 99.8);
  const auto idle = find(diagnose(facts), Cause::idle_sms);
  ASSERT_TRUE(idle && idle->time);
  EXPECT_THAT(idle->sentence, AllOf(HasSubstr("If blocks are equal"), HasSubstr("38 points over elapsed")));
  EXPECT_NEAR(idle->time->share, 1 - 1.25 / 2, 0.001);
  facts.readings.achieved_elapsed_pct = 99.7;
  EXPECT_FALSE(find(diagnose(facts), Cause::idle_sms));
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

}  // namespace
}  // namespace occbench
