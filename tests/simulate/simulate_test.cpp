#include "simulate/simulate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "predict/profile_choice.hpp"
#include "simulate/draws.hpp"
#include "simulate/residency.hpp"
#include "simulate/work.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Simulation simulate_on_h200(int block_threads, std::int64_t grid_blocks, const Tasks& tasks,
                            std::uint64_t seed = 1) {
  return simulate({.block_threads = block_threads, .grid_blocks = grid_blocks}, {.registers_per_thread = 20},
                  limits_of({9, 0}), find_profile("h200").model, tasks, seed);
}

Simulation simulate_on_h200(int block_threads, std::int64_t grid_blocks, std::string_view work,
                            std::uint64_t seed = 1) {
  return simulate_on_h200(block_threads, grid_blocks,
                          Tasks(parse_work(work), grid_blocks, (block_threads + 31) / 32), seed);
}

/// Nothing costs anything: scheduling alone.
DeviceModel free_of_overheads(const Topology& topology) {
  return DeviceModel::uniform(topology, {.gpcs_between_singletons = 6,
                                         .even_first_wave = 1,
                                         .sibling_notices_room = 1,
                                         .lockstep_least_cycles = 1,
                                         .lockstep_most_cycles = 1,
                                         .bytes_per_cycle = 1e6});
}

DeviceModel free_of_overheads(int sm_count) {
  return free_of_overheads(Topology::even(sm_count));
}

TEST(Simulate, StretchedWorkReadsTheSameWithoutOverheads) {
  DeviceModel model = free_of_overheads(2);
  model.parameters.always_issuing_share = 0.8;
  model.parameters.lockstep_least_cycles = 5000;
  model.parameters.lockstep_most_cycles = 500'000;
  for (const char* work : {"equal:20000:issue=20000:lockstep=50000", "equal:20000:issue=20000",
                           "uniform:20000:0.5:1.5:issue=8000", "equal:20000:bytes=20000000"}) {
    const Tasks tasks(parse_work(work), 70, 3);
    const auto achieved = [&](const Tasks& of) {
      return simulate({.block_threads = 96, .grid_blocks = 70}, {.registers_per_thread = 20},
                      limits_of({9, 0}), model, of, 3)
          .achieved_pct;
    };
    EXPECT_LT(achieved(tasks), 95) << work;
    EXPECT_NEAR(achieved(tasks.stretched(1000)), achieved(tasks), 0.01) << work;
  }
}

TEST(Simulate, TheDeviceSaysFromWhichShareOfItsCyclesAWarpCountsAsAlwaysIssuing) {
  // One block of 12 warps, three a sub-partition, which issue in 0.9 of their cycles. Served evenly, all end
  // together. Served warp by warp, two share the slots for 1.8 times as long as one takes alone, and the third
  // follows.
  const Launch launch{.block_threads = 384, .grid_blocks = 1};
  const Tasks tasks(parse_work("equal:1000000:issue=900000"), 1, 12);
  DeviceModel model = free_of_overheads(1);
  const auto share_of_theory = [&](double always_issuing_share) {
    model.parameters.always_issuing_share = always_issuing_share;
    return simulate(launch, {.registers_per_thread = 20}, limits_of({9, 0}), model, tasks, 1).achieved_pct /
           (100 * 12 / 64.0);
  };
  EXPECT_NEAR(share_of_theory(0.91), 1, 1e-3);
  EXPECT_NEAR(share_of_theory(0.9), (1.8 + 1.8 + 2.8) / (3 * 2.8), 1e-3);
}

TEST(Simulate, EachBlockHoldsAPlaceOnceAndAnSmNoMoreOfThemThanFit) {
  for (const char* const work : {"uniform:20000:0.5:1.5:seed=1", "equal:20000:issue=10000"}) {
    const Launch launch{.block_threads = 256, .grid_blocks = 3000};
    std::vector<BlockSpan> spans;
    const Simulation simulation =
        simulate(launch, {.registers_per_thread = 44}, limits_of({9, 0}), find_profile("h200").model,
                 Tasks(parse_work(work), 3000, 8), 1, &spans);
    ASSERT_EQ(spans.size(), 3000u);
    for (int sm = 0; sm < 132; ++sm) {
      for (const BlockSpan& span : spans) {
        if (span.sm != sm) continue;
        ASSERT_LT(span.begin, span.end);
        ASSERT_LE(span.end, simulation.cycles_active_max * 1.1);
        const auto beside = std::ranges::count_if(spans, [&](const BlockSpan& other) {
          return other.sm == sm && other.begin <= span.begin && span.begin < other.end;
        });
        ASSERT_LE(beside, 5);  // 65,536 registers / (256 threads x 48)
      }
    }
  }
}

TEST(Simulate, WithoutOverheadsWholeWavesReadTheory) {
  for (const int threads : {64, 192, 256, 768, 1024}) {
    const Launch launch{.block_threads = threads, .grid_blocks = 132 * 32 * 3};
    const Usage usage{.registers_per_thread = 20};
    const Occupancy occupancy = theoretical_occupancy(limits_of({9, 0}), launch, usage);
    const std::int64_t grid = 3 * full_wave_blocks(occupancy, 132);
    const Tasks tasks(Work::equal(1000), grid, occupancy.warps_per_block);
    const Simulation simulation = simulate({.block_threads = threads, .grid_blocks = grid}, usage,
                                           limits_of({9, 0}), free_of_overheads(132), tasks, 1);
    EXPECT_DOUBLE_EQ(simulation.achieved_pct, occupancy.theoretical_pct);
    EXPECT_DOUBLE_EQ(simulation.elapsed_pct, occupancy.theoretical_pct);
    EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 3000);
  }
}

// One SM, one block at a time on paper: what happens can be told by hand.
TEST(Simulate, AnSmTakesNewBlocksOnlyWhenOneOfItsBlocksEnds) {
  // Blocks of 32 warps, two to an SM. In the first two one warp of each sub-partition... stays 1000 cycles in
  // block 0 and 3000 in block 1; all the other warps leave after 100.
  std::vector<std::int64_t> cycles(4 * 32, 100);
  for (int warp = 0; warp < 4; ++warp) cycles[static_cast<std::size_t>(warp)] = 1000;
  for (int warp = 32; warp < 36; ++warp) cycles[static_cast<std::size_t>(warp)] = 3000;
  const Tasks tasks({cycles, true}, 4, 32);
  const Simulation simulation =
      simulate({.block_threads = 1024, .grid_blocks = 4}, {.registers_per_thread = 20}, limits_of({9, 0}),
               free_of_overheads(1), tasks, 1);
  // Block 2 starts at 1000, when block 0 ends, although 56 of 64 slots have been free since 100; block 1
  // leaves 28 slots, too few for block 3, which starts at 1100.
  EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 3000);
  const double resident = 28 * 100 + 4 * 1000 + 28 * 100 + 4 * 3000 + 32 * 100 + 32 * 100;
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * resident / (64 * 3000));
  const Timeline& timeline = simulation.timeline;
  const auto warps_at = [&](double cycle) {
    return timeline.warps[static_cast<std::size_t>(cycle / timeline.step_cycles)];
  };
  EXPECT_DOUBLE_EQ(warps_at(500), 8);
  EXPECT_DOUBLE_EQ(warps_at(1060), 36);
  EXPECT_DOUBLE_EQ(warps_at(1120), 36);
  EXPECT_DOUBLE_EQ(warps_at(2000), 4);
}

TEST(Simulate, ResidencyIsConserved) {
  // Without overheads the timeline's area is the sum of all durations.
  const Work work = parse_work("warp/uniform:20000:0.5:1.5:seed=3");
  const Tasks tasks(work, 3000, 6);
  const Simulation simulation =
      simulate({.block_threads = 192, .grid_blocks = 3000}, {.registers_per_thread = 20}, limits_of({9, 0}),
               free_of_overheads(132), tasks, 1);
  double total = 0;
  for (std::int64_t warp = 0; warp < 3000 * 6; ++warp)
    total += static_cast<double>(work.cycles_of(warp, 3000 * 6));
  const Timeline& timeline = simulation.timeline;
  const double area =
      std::accumulate(timeline.warps.begin(), timeline.warps.end(), 0.0) * timeline.step_cycles;
  EXPECT_NEAR(area, total, 1e-6 * total);
  EXPECT_NEAR(simulation.achieved_pct, 100 * total / (simulation.cycles_active_mean * 132 * 64), 1e-9);
}

TEST(Simulate, TheSameSeedGivesTheSameResultAndAnotherFallsOtherwise) {
  const Simulation first = simulate_on_h200(256, 2218, "equal:200000", 5);
  EXPECT_EQ(first.achieved_pct, simulate_on_h200(256, 2218, "equal:200000", 5).achieved_pct);
  EXPECT_NE(first.achieved_pct, simulate_on_h200(256, 2218, "equal:200000", 6).achieved_pct);
}

TEST(Simulate, WavesThatAreLeftOutAreThoseThatRepeat) {
  // The same launch with a duration for every block is simulated block by block.
  constexpr std::int64_t grid = 500'000;
  const Simulation skipping = simulate_on_h200(256, grid, "equal:5000");
  const Simulation whole =
      simulate_on_h200(256, grid, Tasks({std::vector<std::int64_t>(grid, 5000), false}, grid, 8));
  // SMs fall out of step for hundreds of waves, ever more slowly: the longest one's cycles are extrapolated.
  EXPECT_NEAR(skipping.achieved_pct, whole.achieved_pct, 0.02);
  EXPECT_NEAR(skipping.elapsed_pct, whole.elapsed_pct, 0.3);
  EXPECT_NEAR(skipping.cycles_active_mean / whole.cycles_active_mean, 1, 1e-3);
}

TEST(Simulate, TheLargestGridOfEqualBlocksHasTheOccupancyOfItsWaves) {
  // Of waves that are simulated one by one, later ones: SMs fall out of step for hundreds of them.
  constexpr std::int64_t wave = 1056;
  const auto block_by_block = [](std::int64_t waves) {
    const std::vector<std::int64_t> cycles(static_cast<std::size_t>(wave * waves), 20'000);
    return simulate_on_h200(256, wave * waves, Tasks({cycles, false}, wave * waves, 8));
  };
  const Simulation largest = simulate_on_h200(256, 2'147'483'647, "equal:20000");
  const Simulation many = block_by_block(600);
  const double wave_cycles = (many.cycles_active_mean - block_by_block(300).cycles_active_mean) / 300;
  EXPECT_NEAR(largest.cycles_active_mean / (2'147'483'647.0 / wave) / wave_cycles, 1, 1e-3);
  EXPECT_NEAR(largest.achieved_pct, many.achieved_pct, 0.1);
}

TEST(Simulate, TheLargestGridOfBlocksThatContendHasTheOccupancyOfItsWaves) {
  constexpr std::int64_t half = 1 << 17;
  constexpr std::int64_t largest = 2'147'483'647;
  for (const char* work : {"equal:20000:issue=10000", "equal:20000:bytes=4096"}) {
    // What the later half of a grid adds that is simulated block by block.
    const Simulation first = simulate_on_h200(64, half, work);
    const Simulation both = simulate_on_h200(64, 2 * half, work);
    const double added_cycles = both.cycles_active_mean - first.cycles_active_mean;
    const double steady_pct =
        (both.achieved_pct * both.cycles_active_mean - first.achieved_pct * first.cycles_active_mean) /
        added_cycles;
    const Simulation skipping = simulate_on_h200(64, largest, work);
    EXPECT_NEAR(skipping.achieved_pct, steady_pct, 0.2) << work;
    EXPECT_NEAR(skipping.cycles_active_mean / (added_cycles * largest / half), 1, 0.01) << work;
  }
}

TEST(Simulate, OneBalancedWaveOfDependentInstructionsReadsFiveEighths) {
  // 16 warps a sub-partition of which four fill the issue slots: they are done four by four, (1 + 2 + 3 + 4)
  // / 16.
  const Simulation simulation = simulate_on_h200(256, 1056, "equal:8000000:issue=2000000");
  EXPECT_NEAR(simulation.achieved_pct, 62.5, 0.1);
  EXPECT_NEAR(simulation.cycles_active_mean, 4 * 8e6, 1e4);
}

TEST(Simulate, WarpsThatCouldIssueInEveryCycleAreSimulatedAsSoonHoweverLongTheyTake) {
  // In pairs (1 + 2 + ... + 8) / 8 / 8 of the time, three at a time (3 + 6 + 9 + 12 + 15) x 3 / 16 / 16 and
  // the last one.
  constexpr double kInPairs = 56.25;
  constexpr double kInThrees = (135.0 + 16) / 256 * 100;
  EXPECT_THAT(simulate_on_h200(256, 1056, "equal:1000000000000:issue=1000000000000").achieved_pct,
              testing::AllOf(testing::Gt(kInPairs), testing::Lt(kInThrees)));
}

TEST(Simulate, BlocksMayEndBeforeAGridThatLeavesRoomIsPlaced) {
  // Slots that exited warps left are not given away twice.
  for (const int threads : {32, 64, 96, 192}) {
    const double achieved = simulate_on_h200(threads, 1267, "warp/uniform:50:0.1:1.9:seed=3").achieved_pct;
    EXPECT_GT(achieved, 1) << threads;
    EXPECT_LT(achieved, 100) << threads;
  }
}

TEST(Simulate, WorkThatMovesNoBytesIsAsLongAsItIsWhateverTheMemory) {
  DeviceProfile profile = find_profile("h200");
  profile.model.parameters.bytes_per_cycle = 0;
  const Tasks tasks(parse_work("equal:8000000:issue=2000000"), 1056, 8);
  const Simulation simulation =
      simulate({.block_threads = 256, .grid_blocks = 1056}, {.registers_per_thread = 20}, limits_of({9, 0}),
               profile.model, tasks, 1);
  EXPECT_NEAR(simulation.achieved_pct, 62.5, 0.1);
}

TEST(Simulate, ALaunchThatMovesBytesTakesAsLongAsTheBytes) {
  constexpr std::int64_t grid = 1056 * 4;
  const Simulation simulation = simulate_on_h200(256, grid, "equal:20000:bytes=65536");
  const double bytes = 65536.0 * 8 * grid;
  const double cycles = bytes / find_profile("h200").model.parameters.bytes_per_cycle;
  EXPECT_NEAR(simulation.cycles_active_max / cycles, 1, 0.01);
}

TEST(Simulate, RoomThatExitedWarpsLeftIsNoticedWhenABlockEndsOnEitherSmOfTheTpc) {
  // Blocks of 32 warps, two an SM. SM 0: two blocks of which all warps but one end at 100, the last at 1,000.
  // SM 1: two blocks that end at 400, whose end lets SM 0 take one too.
  std::vector<std::int64_t> cycles;
  for (const std::int64_t block : {0, 1, 2, 3, 4, 5, 6}) {
    const bool on_first_sm = block % 2 == 0;
    for (int warp = 0; warp < 32; ++warp) {
      cycles.push_back(block >= 4 ? 300 : !on_first_sm ? 400 : warp == 0 ? 1000 : 100);
    }
  }
  const Tasks tasks({cycles, true}, 7, 32);
  const Simulation simulation =
      simulate({.block_threads = 1024, .grid_blocks = 7}, {.registers_per_thread = 20}, limits_of({9, 0}),
               free_of_overheads(2), tasks, 1);
  // Without that, the seventh block would begin when one of the others has ended on SM 1, at 700.
  EXPECT_DOUBLE_EQ(simulation.cycles_active_min, 700);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 1000);
}

TEST(Simulate, EachWarpThatWaitsForAClockLeavesItsRoomWhenItSeesItsTime) {
  // Blocks of 16 equal warps, four at a time. When all warps of the first one have gone, most of the others' have
  // too: there is room for two blocks. If all warps of a block stayed as long as its last, there would be for one.
  const Tasks tasks(parse_work("warp/every:10000:16:1:poll=2.5"), 8, 16);
  std::vector<BlockSpan> spans;
  simulate({.block_threads = 512, .grid_blocks = 8}, {.registers_per_thread = 20}, limits_of({9, 0}),
           free_of_overheads(1), tasks, 1, &spans);
  std::vector<double> begins;
  for (const BlockSpan& span : spans) begins.push_back(span.begin);
  std::ranges::sort(begins);
  ASSERT_EQ(begins.size(), 8u);
  EXPECT_GT(begins[4], 10'000);
  EXPECT_EQ(begins[5], begins[4]);
}

TEST(Simulate, AGpcWhoseClockIsFasterIsDoneSoonerAndTakesTheTail) {
  // Two GPCs of two SMs with two slots each, eight equal blocks to fill them and four more.
  const auto achieved = [](std::vector<int> gpc_clock_ppm) {
    DeviceModel device = free_of_overheads(Topology({2, 2}, 0));
    device.gpc_clock_ppm = std::move(gpc_clock_ppm);
    return simulate({.block_threads = 1024, .grid_blocks = 12}, {.registers_per_thread = 20},
                    limits_of({9, 0}), device, Tasks(Work::equal(100'000), 12, 32), 1)
        .achieved_pct;
  };
  EXPECT_NEAR(achieved({0, 0}), 75, 0.1);        // one block of the tail on each SM
  EXPECT_NEAR(achieved({-500, 500}), 100, 0.1);  // two on each of the faster GPC's
}

TEST(Simulate, ClustersWaitForRoomForAllTheirBlocks) {
  // Two SMs with two slots each, clusters of two, a block on each: the third cluster waits for the longer
  // blocks of the first two, although one SM had room before.
  const Tasks tasks({{100, 200, 100, 200, 100, 200}, false}, 6, 32);
  const Simulation simulation =
      simulate({.block_threads = 1024, .grid_blocks = 6, .cluster_blocks = 2}, {.registers_per_thread = 20},
               limits_of({9, 0}), free_of_overheads(2), tasks, 1);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_min, 200);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 400);
}

TEST(Simulate, ClustersFillGpcsAndAtMostEightBlocksOfThemAnSm) {
  // Counters of an H200: blocks of 64 threads, in clusters of 4: 8 of 32 blocks per SM, none on the 8 SMs
  // apart.
  const Tasks tasks(Work::equal(20'000), 3168, 2);
  const Simulation simulation =
      simulate({.block_threads = 64, .grid_blocks = 3168, .cluster_blocks = 4}, {.registers_per_thread = 14},
               limits_of({9, 0}), find_profile("h200").model, tasks, 1);
  EXPECT_NEAR(simulation.achieved_pct, 20.9, 2);
  EXPECT_EQ(simulation.cycles_active_min, 0);
}

TEST(Simulate, RefusesLaunchesThatCannotBe) {
  const auto complains = [](const Launch& launch, const Usage& usage, std::string_view about) {
    const Tasks tasks(Work::equal(1000), std::max<std::int64_t>(1, launch.grid_blocks),
                      (launch.block_threads + 31) / 32);
    EXPECT_THAT(
        [&] {
          simulate(launch, usage, limits_of({9, 0}), find_profile("h200").model, tasks, 1);
        },
        ThrowsMessage<InputError>(HasSubstr(std::string(about))));
  };
  complains({.block_threads = 256, .grid_blocks = 0}, {.registers_per_thread = 20}, "grid_blocks = 0");
  complains({.block_threads = 256, .grid_blocks = 2'147'483'648}, {.registers_per_thread = 20}, "2147483647");
  complains({.block_threads = 1025, .grid_blocks = 1}, {.registers_per_thread = 20}, "block_threads = 1025");
  complains({.block_threads = 1024, .grid_blocks = 1}, {.registers_per_thread = 255}, "needs");
  complains({.block_threads = 256, .grid_blocks = 96, .cluster_blocks = 32}, {.registers_per_thread = 20},
            "cluster");
  complains({.block_threads = 256, .grid_blocks = 7, .cluster_blocks = 2}, {.registers_per_thread = 20},
            "not a multiple of cluster_blocks = 2");
}

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

TEST(PortableMath, LogarithmAgreesWithTheCLibraryFromTheSmallestDrawToTheLargestFactor) {
  for (double x = 0x1p-53; x < 1e9; x *= 1.0137) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-16 + 4e-16 * std::abs(std::log(x))) << x;
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(PortableMath, ExponentialAgreesWithTheCLibrary) {
  for (double x = -40; x <= 40; x += 0.0173) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-15) << x;
  }
}

TEST(PortableMath, RandomBitsAreThoseOfSplitmix64) {
  // The stream whose generator starts at 1234567, the seed for which implementations of splitmix64 publish
  // their first outputs.
  constexpr std::uint64_t stream = 11906536674387683726u;
  constexpr std::array<std::uint64_t, 5> published{6457827717110365317u, 3203168211198807973u,
                                                   9817491932198370423u, 4593380528125082431u,
                                                   16408922859458223821u};
  for (std::uint64_t draw = 0; draw < published.size(); ++draw) {
    EXPECT_EQ(random_bits(stream, draw), published[draw]);
  }
}

TEST(PortableMath, NormalDeviatesHaveMeanZeroVarianceOneAndNormalTails) {
  constexpr int count = 200'000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < count; ++i) {
    const double z = random_normal(5, static_cast<std::uint64_t>(i));
    sum += z;
    squares += z * z;
    beyond_two += std::abs(z) > 2;
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.015);
  EXPECT_NEAR(static_cast<double>(beyond_two) / count, 0.0455, 0.002);
}

}  // namespace
}  // namespace occbench
