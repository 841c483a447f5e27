// Readings that no launch can have, or none of the numbers that it is asked with.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "by_numbers.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

TEST(ByNumbers, ACounterBelongsToAnotherLaunchFromAPointAboveReachOn) {
  // One block of 8 warps per SM: 12.5 %.
  const Launch launch{.block_threads = 256, .grid_blocks = 100};
  const auto is_another = [&](double achieved_pct) {
    const auto findings =
        diagnose(by_numbers("9.0", 132, launch, {.registers_per_thread = 32}, achieved_pct));
    return find(findings, Cause::another_launch).has_value();
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
  EXPECT_TRUE(find(said_of(6 * 0.969), Cause::another_launch));
  EXPECT_FALSE(find(said_of(6 * 0.971), Cause::another_launch));
}

TEST(ByNumbers, MoreResidentBlocksThanAnSmGetsOfTheGridAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 300}, {.registers_per_thread = 24}, 14);
  facts.readings.counters.resident_blocks = 3;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
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
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
  facts.readings.counters.resident_blocks = 5.2;
  EXPECT_THAT(
      the(diagnose(facts), Cause::another_launch).sentence,
      HasSubstr("an SM can hold 4 blocks at once, however soon their warps end, so 5.2 resident blocks"));
  EXPECT_FALSE(find(diagnose(facts), Cause::uneven_warps));
  // With 64 registers four fit, too, and each warp gives its own back.
  facts.launch->dynamic_shared_bytes = 0;
  facts.compiled->usage.registers_per_thread = 64;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
}

TEST(ByNumbers, MoreActiveCyclesThanTheTimeHasRoomForAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 2112}, {.registers_per_thread = 32}, 90);
  facts.most_cycles_active = 100'000;
  facts.readings.counters.sm_cycles_active_avg = 199'000;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
  facts.readings.counters.sm_cycles_active_avg = 201'000;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("room for 100,000 cycles at the highest clock, so 201,000 active cycles"));
  // The clock of that very time leaves less room for doubt.
  facts.clock_is_given = true;
  facts.readings.counters.sm_cycles_active_avg = 109'000;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
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

TEST(ByNumbers, CountersThatNoLaunchHasTogetherAreOfSeveral) {
  const auto said = [](auto&& change) {
    LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560},
                                   {.registers_per_thread = 32}, 70);
    change(facts.readings.counters);
    const auto findings = diagnose(facts);
    const auto found = find(findings, Cause::another_launch);
    return found ? found->sentence : std::string();
  };
  EXPECT_THAT(said([](auto& of) { of.barrier_stall_warps = 40; }),
              HasSubstr("of a scheduler's warps 40 wait at barriers, where at most 11.2 are active"));
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
                of.issue_active_pct = 3;
                of.fma_use_pct = 98;
              }),
              HasSubstr("fma_use_pct is 98 % where a scheduler issues in 3 % of its cycles"));
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
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
  // Those of one block per SM that are all there are two on each scheduler.
  facts.launch->grid_blocks = 132;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence, HasSubstr("where at most 2 are active"));
}

TEST(ByNumbers, OccupancyAboveThatOfActiveCyclesOrBelowOneWarpIsOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  facts.readings.achieved_elapsed_pct = 60.9;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
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
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
}

TEST(ByNumbers, AnActiveSmHasABlockSoThatFewerAreOfAnotherLaunch) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 1024, .grid_blocks = 1320}, {.registers_per_thread = 64}, 30);
  facts.readings.counters.resident_blocks = 0.98;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              AllOf(HasSubstr("an active SM has one block at least, so 0.98 resident blocks belong"),
                    HasSubstr("are per_cycle_elapsed and not per_cycle_active")));
  facts.readings.counters.resident_blocks = 0.995;  // rounded
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
}

TEST(ByNumbers, FewerBlocksThanSmsLeaveSmsWithoutActiveCycles) {
  for (const int cluster_blocks : {1, 2}) {
    LaunchFacts facts =
        by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 40, .cluster_blocks = cluster_blocks},
                   {.registers_per_thread = 32}, 12.5);
    const auto is_another = [&](double least, double mean) {
      facts.readings.counters.sm_cycles_active_min = least;
      facts.readings.counters.sm_cycles_active_avg = mean;
      facts.readings.counters.sm_cycles_active_max = 20'000;
      return find(diagnose(facts), Cause::another_launch);
    };
    EXPECT_FALSE(is_another(0, 20'000 * 40 / 132));
    EXPECT_THAT(is_another(0, 10'000)->sentence, AllOf(HasSubstr("40 blocks leave 92 of 132 SMs without one"),
                                                       HasSubstr("their mean is at most 0.303 of the most"),
                                                       HasSubstr("or to a GPU of fewer SMs")));
    EXPECT_TRUE(is_another(1, 20'000 * 40 / 132));
    facts.launch->grid_blocks = 132;
    EXPECT_FALSE(is_another(5000, 10'000));
  }
}

TEST(ByNumbers, OccupancyOverElapsedCyclesIsByActiveCyclesThoseBesideTheLaunchLess) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  const auto is_another = [&](double longest, double elapsed_pct) {
    facts.readings.counters.sm_cycles_active_max = longest;
    facts.readings.counters.sm_cycles_active_avg = 0.9 * longest;  // 54 % of the longest
    facts.readings.achieved_elapsed_pct = elapsed_pct;
    return find(diagnose(facts), Cause::another_launch);
  };
  EXPECT_FALSE(is_another(1e6, 54));
  EXPECT_FALSE(is_another(1e6, 59)) << "counters are read in passes of their own";
  EXPECT_TRUE(is_another(1e6, 60));
  EXPECT_FALSE(is_another(1e6, 45)) << "a tenth of the time is beside the launch";
  EXPECT_THAT(is_another(1e6, 30)->sentence,
              HasSubstr("occupancy is 30 % over elapsed cycles, and by active ones 54 %"));
  EXPECT_FALSE(is_another(1e5, 30));
}

TEST(ByNumbers, BytesOfDeviceMemoryAreNoMoreThanItMovesAndAsManyAsItIsBusyWith) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  facts.times.time_us = 100;
  facts.most_dram_bytes = 335e6;
  const auto said = [&](double bytes, Real busy_pct) {
    facts.readings.counters.dram_bytes = bytes;
    facts.readings.counters.dram_busy_pct = busy_pct;
    const auto another = find(diagnose(facts), Cause::another_launch);
    return another ? another->sentence : "";
  };
  EXPECT_THAT(said(1e9, {}), HasSubstr("moves 0.335 GB at most in the time, and 1 GB were counted"));
  EXPECT_EQ(said(360e6, {}), "") << "rounded";
  EXPECT_THAT(said(3e7, 95), HasSubstr("are 8.96 % of device memory's peak, and dram_busy_pct is 95 %"));
  EXPECT_THAT(said(3e8, 5), HasSubstr("are 89.6 % of device memory's peak, and dram_busy_pct is 5 %"));
  EXPECT_EQ(said(3e8, 60), "") << "what is counted takes up to 50 us more";
  EXPECT_EQ(said(3e8, 92), "");
  facts.times.time_us = 10'000;
  EXPECT_NE(said(3e8, 60), "");
}

TEST(ByNumbers, AnSmMakesARequestOfAWarpInACycleAtMost) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 10560}, {.registers_per_thread = 32}, 60);
  facts.most_cycles_active = 198'000;
  facts.readings.counters.atomic_requests = 1e9;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("1e+09 atomic requests are more than the SMs can make in 198,000 cycles"));
  facts.readings.counters.atomic_requests = 198'000 * 132;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
  // Each lane may move a sector.
  facts.readings.counters.local_sectors = 1e9;
  EXPECT_THAT(the(diagnose(facts), Cause::another_launch).sentence,
              HasSubstr("1e+09 sectors of local memory are more"));
  facts.readings.counters.local_sectors = 32.0 * 198'000 * 132;
  EXPECT_FALSE(find(diagnose(facts), Cause::another_launch));
}

TEST(ByNumbers, AReadingIsNotRefusedByBlockSlotsThatWereSeenOnAnotherGpu) {
  const auto findings = [](const char* capability, double achieved_pct, Real resident_blocks) {
    LaunchFacts facts =
        by_numbers(capability, 148, {.block_threads = 128, .grid_blocks = 30'000, .cluster_blocks = 2},
                   {.registers_per_thread = 32}, achieved_pct);
    facts.readings.counters.resident_blocks = resident_blocks;
    return diagnose(facts);
  };
  // Eight blocks of clusters are half of an SM, 16 all of it.
  for (const char* capability : {"10.0", "10.3"}) {
    EXPECT_FALSE(find(findings(capability, 95, {}), Cause::another_launch)) << capability;
    EXPECT_FALSE(find(findings(capability, 95, {}), Cause::block_size_limit)) << "theory is 100 % then";
    const Finding warps = the(findings(capability, 45, 12), Cause::uneven_warps);
    EXPECT_NEAR(warps.points, 75 - 45, 0.1);
    EXPECT_THAT(the(findings(capability, 45, {}), Cause::block_size_limit).sentence,
                HasSubstr("8 blocks of clusters, as found on compute capability 9.0 alone"));
  }
  EXPECT_TRUE(find(findings("9.0", 95, {}), Cause::another_launch));
  EXPECT_TRUE(find(findings("9.0", 45, 12), Cause::another_launch));
}

TEST(ByNumbers, ARefusalByThePaceOfAnotherGpuSaysSo) {
  const auto said = [](const char* capability, int sm_count) {
    LaunchFacts facts = by_numbers(capability, sm_count, {.block_threads = 256, .grid_blocks = 100'000},
                                   {.registers_per_thread = 32}, 70);
    facts.readings.counters.sm_cycles_active_avg = 10'000;
    return the(diagnose(facts), Cause::another_launch).sentence;
  };
  EXPECT_THAT(said("8.0", 108),
              HasSubstr("cycles or so at the pace of an H100 (unverified here), so 10,000"));
  EXPECT_THAT(said("9.0", 132), HasSubstr("cycles or so, so 10,000"));
}

}  // namespace
}  // namespace occbench
