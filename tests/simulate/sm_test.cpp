#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/block_execution.hpp"
#include "simulate/contention.hpp"
#include "simulate/device_model.hpp"
#include "simulate/dispatcher.hpp"
#include "simulate/draws.hpp"
#include "simulate/residency.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;

SmRules rules_of(const DeviceParameters& parameters, int block_threads) {
  const Limits& limits = limits_of({9, 0});
  return {parameters, limits,
          theoretical_occupancy(limits, {.block_threads = block_threads}, {.registers_per_thread = 20})};
}

TEST(Sm, BlocksAreLaunchedOneAfterAnother) {
  const SmRules rules = rules_of({.block_launch_cycles = 20}, 256);
  Sm sm({});
  EXPECT_EQ(sm.launch(100, rules).start, 100);
  const Sm::Launched second = sm.launch(100, rules);
  EXPECT_EQ(second.start, 120);
  EXPECT_EQ(second.number, 1);
  EXPECT_EQ(sm.resident_blocks(), 2);
}

TEST(Sm, ActiveCyclesCountWhatOverlapsOnce) {
  ActiveCycles active;
  active.add(0, 10);
  active.add(5, 8);
  active.add(9, 20);
  active.add(30, 40);
  EXPECT_EQ(active.total(), 30);
}

TEST(Sm, BeginsWithItsFirstStart) {
  const SmRules rules = rules_of({.block_launch_cycles = 10}, 256);
  Sm sm({.first_start = 50});
  EXPECT_EQ(sm.launch(0, rules).start, 50) << "it begins no earlier";
  EXPECT_EQ(sm.launch(55, rules).start, 60);
  EXPECT_EQ(sm.launch(100, rules).start, 100);
}

TEST(Sms, TakeTheirPartOfTheFirstWave) {
  const DeviceModel device = DeviceModel::uniform(Topology({4, 4}, 2), {});
  const std::vector<Sm> sms = sms_of(device, {2, {3}}, Draws(1), 1);
  EXPECT_EQ(sms[2].traits().first_wave_blocks, 2);
  EXPECT_EQ(sms[3].traits().first_wave_blocks, 3);
}

struct How {
  double lockstep_cycles = 0;
  double of_three = 0;
};

Contention contention_of(int partitions, const Rates& alone, double bytes_per_cycle = 1,
                         const How& how = {}) {
  return {partitions,
          {1 / std::max(alone.issue, alone.pipe), alone.always_issues(0.8), how.lockstep_cycles, how.of_three,
           Draws(1)},
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

struct Numbered {
  double time;
  int number;
};

TEST(EventQueue, GivesTheEarliestFirst) {
  EventQueue<Numbered> queue;
  std::vector<double> waiting;
  std::uint64_t draw = 0;
  // Grows, stays as long as it is, and empties.
  for (const int pushes_of_four : {4, 3, 2, 1, 0}) {
    for (int step = 0; step < 1000; ++step) {
      if (random_bits(1, ++draw) % 4 < static_cast<unsigned>(pushes_of_four)) {
        const double time = static_cast<double>(random_bits(2, draw) % 500);
        queue.push({time, step});
        waiting.push_back(time);
      } else if (!queue.empty()) {
        const auto least = std::ranges::min_element(waiting);
        ASSERT_EQ(queue.top().time, *least);
        waiting.erase(least);
        queue.pop();
      }
      ASSERT_EQ(queue.empty(), waiting.empty());
    }
  }
}

// What a simulation says must not depend on the standard library at hand.
TEST(EventQueue, HasOneOrderForEventsOfOneTime) {
  EventQueue<Numbered> queue;
  for (int number = 0; number < 7; ++number) queue.push({1, number});
  std::vector<int> order;
  for (; !queue.empty(); queue.pop()) order.push_back(queue.top().number);
  EXPECT_EQ(order, (std::vector{0, 2, 5, 6, 4, 1, 3}));
}

const Topology kH200({8, 16, 16, 16, 16, 16, 18, 18}, 8);  // SMs 0 to 7 are of singleton TPCs

TEST(Dispatcher, GpcsAreVisitedRoundRobinAndSingletonTpcsBetweenThem) {
  // As recorded on an H200 (blocks of 256 threads, one launch of many): groups of SMs in the order in which
  // they took blocks, s = singleton TPCs.
  Dispatcher dispatcher(kH200, 0, 6);
  dispatcher.begin({8, {}});
  std::string order;
  int first_of_group = -1;
  for (int block = 0; block < 300; ++block) {
    const int sm = dispatcher.next();
    const int gpc = kH200.gpc_of(sm);
    const int group = gpc == kH200.gpc_count() ? 's' : '0' + gpc;
    if (group != first_of_group) order += static_cast<char>(group);
    first_of_group = group;
  }
  EXPECT_EQ(order, "s01234s567012s345670s1");
}

TEST(Dispatcher, AtAVisitEachSmWithRoomTakesOneBlock) {
  Dispatcher dispatcher(kH200, 0, 6);
  EXPECT_EQ(dispatcher.next(), -1);
  dispatcher.set_room(20, 2);
  dispatcher.set_room(22, 1);
  dispatcher.set_room(100, 1);
  EXPECT_EQ(dispatcher.total(), 4);
  std::vector<int> order;
  for (int sm = dispatcher.next(); sm >= 0; sm = dispatcher.next()) order.push_back(sm);
  EXPECT_EQ(order, (std::vector{20, 22, 100, 20}));
}

TEST(FirstWave, AGridThatLeavesRoomIsSpreadOverPairsOfSms) {
  // As recorded on an H200: of 317 blocks each SM has two, and one more have the singleton SMs and the first
  // ones of 45 pairs; of 119, the second ones of the last 13 pairs have none.
  const FirstWave wave = first_wave(kH200, 8, 317);
  EXPECT_EQ(wave.rounds, 2);
  EXPECT_EQ(wave.rest.size(), 53u);
  for (int sm = 0; sm < 8; ++sm) EXPECT_EQ(std::ranges::count(wave.rest, sm), 1) << sm;
  for (const int sm : wave.rest) EXPECT_TRUE(sm < 8 || sm % 2 == 0) << sm;
  EXPECT_EQ(first_wave(kH200, 3, 119).rounds, 0);
  EXPECT_EQ(first_wave(kH200, 3, 119).rest.size(), 119u);
  EXPECT_EQ(first_wave(kH200, 3, 1000).rounds, 3);
  EXPECT_TRUE(first_wave(kH200, 3, 1000).rest.empty());
}

/// The SM of each block of a grid that is resident at once.
std::vector<int> placed(int grid_blocks, int blocks_per_sm) {
  Dispatcher dispatcher(kH200, 0, 6);
  dispatcher.begin(first_wave(kH200, blocks_per_sm, grid_blocks));
  std::vector<int> sms;
  for (int block = 0; block < grid_blocks; ++block) sms.push_back(dispatcher.next());
  EXPECT_EQ(dispatcher.next(), -1);
  return sms;
}

TEST(FirstWave, AnSmThatIsToldItsRoomTakesNoMoreThanThat) {
  Dispatcher dispatcher(kH200, 0, 6);
  dispatcher.begin({1, {0, 1}});
  EXPECT_EQ(dispatcher.total(), 134);
  for (int block = 0; block < 132; ++block) dispatcher.next();
  dispatcher.set_room(1, 0);
  EXPECT_EQ(dispatcher.total(), 1);
  EXPECT_EQ(dispatcher.next(), 0);
  EXPECT_EQ(dispatcher.next(), -1);
}

TEST(FirstWave, EachBlockGoesWhereTheTraceHasIt) {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/tests/data/h200_launches/placement.csv");
  std::string line;
  std::getline(file, line);
  int grids = 0;
  while (std::getline(file, line)) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream cells(line);
    int block_threads = 0;
    int grid_blocks = 0;
    int blocks_per_sm = 0;
    cells >> block_threads >> grid_blocks >> blocks_per_sm;
    const std::vector<int> traced{std::istream_iterator<int>(cells), {}};
    const std::vector<int> expected = placed(grid_blocks, blocks_per_sm);
    ASSERT_EQ(traced.size(), expected.size());
    ++grids;
    // Of 400 blocks the singleton SMs took what is left of whole rounds one visit early.
    const std::ptrdiff_t same = grid_blocks == 400 ? 378 : grid_blocks;
    EXPECT_EQ(std::ranges::mismatch(traced, expected).in1 - traced.begin(), same)
        << grid_blocks << " blocks of " << block_threads << " threads";
  }
  EXPECT_EQ(grids, 14);
}

TEST(WarpSlots, AnEmptySmHoldsTheBlocksOfTheCalculator) {
  for (const Limits& limits : all_limits()) {
    if (limits.compute_capability.major < 3) continue;  // no sub-partitions with registers of their own
    for (int threads = 32; threads <= limits.max_threads_per_block; threads += 32) {
      for (const int registers : {16, 32, 33, 48, 64, 96, 128, 255}) {
        if (registers > limits.max_registers_per_thread) continue;
        const Launch launch{.block_threads = threads};
        const Usage usage{.registers_per_thread = registers};
        const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
        const int calculated = std::min(occupancy.block_limits.warps, occupancy.block_limits.registers);
        const WarpSlots slots(limits, occupancy, 1);
        EXPECT_GE(slots.blocks_that_fit(0, 0), calculated)
            << to_string(limits.compute_capability) << " " << threads << " threads " << registers;
      }
    }
  }
}

TEST(WarpSlots, WarpsThatStayInOneSubPartitionKeepBlocksOut) {
  const Limits& limits = limits_of({9, 0});
  const Occupancy occupancy =
      theoretical_occupancy(limits, {.block_threads = 256}, {.registers_per_thread = 20});
  WarpSlots slots(limits, occupancy, 1);
  std::vector<WarpSlots::Slot> of_warps;
  for (int block = 0; block < 8; ++block) {
    slots.take(0, 0, of_warps);
    // Warps 0 and 4 share a sub-partition. They stay, the others leave.
    for (std::size_t warp = 0; warp < 8; ++warp) {
      if (warp % 4 != 0) slots.free_at(0, of_warps[warp], 100);
    }
  }
  // 48 of 64 slots are free, but one of the four sub-partitions has none.
  EXPECT_EQ(slots.blocks_that_fit(0, 100), 0);
  slots.free_at(0, of_warps[0], 200);
  EXPECT_EQ(slots.blocks_that_fit(0, 200), 0);
  slots.free_at(0, of_warps[4], 200);
  EXPECT_EQ(slots.blocks_that_fit(0, 200), 1);
}

TEST(WarpSlots, ABlockWaitsForTheSubPartitionsThatComeNext) {
  // Blocks of two warps: the first has sub-partitions 0 and 1, the second 2 and 3, and so on.
  const Limits& limits = limits_of({9, 0});
  const Occupancy occupancy =
      theoretical_occupancy(limits, {.block_threads = 64}, {.registers_per_thread = 20});
  WarpSlots slots(limits, occupancy, 1);
  std::vector<std::vector<WarpSlots::Slot>> blocks(32);
  for (std::vector<WarpSlots::Slot>& block : blocks) slots.take(0, 0, block);
  const auto end = [&](std::size_t block, double time) {
    for (const WarpSlots::Slot& slot : blocks[block]) slots.free_at(0, slot, time);
  };
  end(1, 100);
  end(3, 100);
  EXPECT_EQ(slots.blocks_that_fit(0, 100), 0);  // four slots are free, all in 2 and 3
  end(0, 200);
  EXPECT_EQ(slots.blocks_that_fit(0, 200), 2);  // 0 and 1, then 2 and 3, then 0 and 1 again: full
}

constexpr int kMaxWarps = 64;

/// As many SMs, none of which has been active.
std::vector<Sm> idle_sms(int count) {
  return std::vector<Sm>(static_cast<std::size_t>(count), Sm({}));
}

double warp_cycles(const Timeline& timeline) {
  return timeline.step_cycles * std::accumulate(timeline.warps.begin(), timeline.warps.end(), 0.0);
}

TEST(Residency, OccupancyIsWarpCyclesOverActiveCyclesTimesTheSmsMaximum) {
  // SM 0 is active for 100 cycles, with a block of 8 warps that half of them leave after 50. SM 1 is active for 300,
  // with one block of 16 warps. Of 64 warps: (8 x 50 + 4 x 50 + 16 x 300) / (400 x 64).
  Residency residency(skipped_waves(2, 2));
  std::vector<Sm> sms = idle_sms(2);
  residency.add_warps(sms[0], 0, 50, 4);
  residency.add_warps(sms[0], 0, 100, 4);
  residency.add_warps(sms[1], 20, 320, 16);
  sms[0].active.add(0, 100);
  sms[1].active.add(20, 320);
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * 5400 / (400.0 * 64));
  EXPECT_DOUBLE_EQ(simulation.elapsed_pct, 100 * 5400 / (2 * 300.0 * 64))
      << "both SMs over the longer one's cycles";
  EXPECT_EQ(simulation.cycles_active_min, 100);
  EXPECT_EQ(simulation.cycles_active_mean, 200);
  EXPECT_EQ(simulation.cycles_active_max, 300);
  EXPECT_NEAR(warp_cycles(simulation.timeline), 5400, 1e-6);
}

TEST(Residency, EachSmCountsCyclesOfItsOwnClock) {
  // Two SMs run as many cycles, one of them with a clock that is 1 % slower.
  Residency residency(skipped_waves(2, 2));
  std::vector<Sm> sms = {Sm({}), Sm({.slowness = 1.01})};
  for (std::size_t sm = 0; sm < 2; ++sm) {
    const double end = sm == 0 ? 1000 : 1010;
    residency.add_warps(sms[sm], 0, end, kMaxWarps);
    residency.add_block(sms[sm], {static_cast<int>(sm), 0, end});
    sms[sm].active.add(0, end);
  }
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 1000);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_min, 1000);
  EXPECT_DOUBLE_EQ(simulation.elapsed_pct, 100) << "as the counters have it";
  EXPECT_DOUBLE_EQ(simulation.resident_blocks, 1);
  EXPECT_NEAR(warp_cycles(simulation.timeline), 2010 * kMaxWarps, 1e-6) << "in one time";
}

TEST(Residency, AnIdleSmLowersOccupancyOverElapsedCyclesOnly) {
  Residency residency(skipped_waves(1, 2));
  std::vector<Sm> sms = idle_sms(2);
  residency.add_warps(sms[0], 0, 100, kMaxWarps);
  sms[0].active.add(0, 100);
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_EQ(simulation.achieved_pct, 100);
  EXPECT_EQ(simulation.elapsed_pct, 50);
  EXPECT_EQ(simulation.cycles_active_min, 0);
}

TEST(Residency, ABlockHoldsItsPlaceUntilItsLastWarpEnds) {
  // Two blocks of 2 warps on one SM, for 100 and 60 cycles of 100; one warp of each ends after 10.
  Residency residency(skipped_waves(2, 2));
  std::vector<Sm> sms = idle_sms(1);
  for (const double end : {100.0, 60.0}) {
    residency.add_warps(sms[0], 0, 10, 1);
    residency.add_warps(sms[0], 0, end, 1);
    residency.add_block(sms[0], {0, 0, end});
  }
  sms[0].active.add(0, 100);
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_DOUBLE_EQ(simulation.resident_blocks, 1.6);
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * 180 / (100.0 * 64));
}

TEST(SkippedWaves, AreWholeWavesOfLargeGridsOnly) {
  constexpr std::int64_t kWave = 1056;
  EXPECT_EQ(skipped_waves(1 << 18, kWave).waves, 0);
  for (const std::int64_t grid : {(1 << 18) + 1, 1'000'003, 2'147'483'647}) {
    const SkippedWaves skipped = skipped_waves(grid, kWave);
    EXPECT_EQ(skipped.simulated_blocks + skipped.waves * kWave, grid);
    EXPECT_EQ(skipped.simulated_blocks % kWave, grid % kWave) << "the tail is simulated";
    EXPECT_LT(skipped.simulated_blocks, (1 << 18) + kWave) << "as few waves as can be";
    EXPECT_GE(skipped.simulated_blocks, std::min<std::int64_t>(grid, 1 << 18));
  }
  const SkippedWaves large_device = skipped_waves(10'000'000, 100'000);
  EXPECT_EQ(large_device.simulated_blocks, 16 * 100'000) << "enough waves to find their steady length";
}

/// 100 waves of a block for each of two SMs. The first three take 200 cycles, the others 100. SM 1 is idle for the
/// last tenth of each. A block has 8 warps, and half of them end half-way.
Simulation of_a_hundred_waves(const SkippedWaves& skipped) {
  Residency residency(skipped);
  std::vector<Sm> sms = idle_sms(2);
  double now = 0;
  for (std::int64_t block = 0; block < skipped.simulated_blocks; block += 2) {
    const double wave = block < 6 ? 200 : 100;
    for (std::int64_t sm = 0; sm < 2; ++sm) {
      residency.before(block + sm, now, sms);
      const double cycles = sm == 0 ? wave : 0.9 * wave;
      Sm& on = sms[static_cast<std::size_t>(sm)];
      residency.add_warps(on, now, now + cycles / 2, 4);
      residency.add_warps(on, now, now + cycles, 4);
      residency.add_block(on, {0, now, now + cycles});
      on.active.add(now, now + cycles);
    }
    now += wave;
  }
  return residency.result(sms, kMaxWarps);
}

TEST(SkippedWaves, AreAsLongAsTheSteadyOnesOnEachSm) {
  const Simulation simulation =
      of_a_hundred_waves({.simulated_blocks = 2 * 16, .wave_blocks = 2, .waves = 84});
  EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 3 * 200 + 97 * 100);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_min, 0.9 * (3 * 200 + 97 * 100));
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * 6 / 64.0) << "8 warps for one half, 4 for the other";
  EXPECT_DOUBLE_EQ(simulation.resident_blocks, 1);
}

TEST(SkippedWaves, ChangeNoCounterOfWavesThatRepeat) {
  const Simulation skipped = of_a_hundred_waves({.simulated_blocks = 2 * 16, .wave_blocks = 2, .waves = 84});
  const Simulation whole = of_a_hundred_waves({.simulated_blocks = 2 * 100, .wave_blocks = 2, .waves = 0});
  EXPECT_DOUBLE_EQ(skipped.achieved_pct, whole.achieved_pct);
  EXPECT_DOUBLE_EQ(skipped.elapsed_pct, whole.elapsed_pct);
  EXPECT_DOUBLE_EQ(skipped.cycles_active_mean, whole.cycles_active_mean);
  EXPECT_DOUBLE_EQ(skipped.resident_blocks, whole.resident_blocks);
  EXPECT_NEAR(warp_cycles(skipped.timeline), warp_cycles(whole.timeline), 1e-6 * warp_cycles(whole.timeline));
}

TEST(Topology, AnH200HasSingletonTpcsFirstAndEightGpcs) {
  EXPECT_EQ(kH200.sm_count(), 132);
  EXPECT_EQ(kH200.gpc_count(), 8);
  EXPECT_EQ(kH200.tpc_count(), 66);
  EXPECT_EQ(kH200.clock_domain_count(), 12);
  EXPECT_EQ(kH200.gpc_of(7), 8) << "of a singleton TPC";
  EXPECT_EQ(kH200.gpc_of(8), 0);
  EXPECT_EQ(kH200.gpc_of(131), 7);
  EXPECT_EQ(kH200.tpc_of(8), 0);
  EXPECT_EQ(kH200.tpc_of(131), 61);
  EXPECT_EQ(kH200.tpc_of(0), 62);
  EXPECT_EQ(kH200.tpc_of(7), 65);
  EXPECT_EQ(kH200.clock_domain_of(8), 0);
  EXPECT_EQ(kH200.clock_domain_of(1), 8);
  EXPECT_EQ(kH200.clock_domain_of(2), 9);
}

TEST(Topology, SmsOfATpcAreEachOthersSibling) {
  for (int sm = 0; sm < kH200.sm_count(); ++sm) {
    const std::optional<int> sibling = kH200.sibling(sm);
    ASSERT_TRUE(sibling) << sm;
    EXPECT_EQ(kH200.sibling(*sibling), sm);
    EXPECT_EQ(kH200.tpc_of(*sibling), kH200.tpc_of(sm)) << sm;
    EXPECT_NE(kH200.is_second_of_tpc(sm), kH200.is_second_of_tpc(*sibling)) << sm;
  }
}

// The SMs after an odd-sized GPC have even and odd numbers the other way round.
TEST(Topology, TheLastSmOfAnOddSizedGpcIsAloneAndShiftsNoOneElse) {
  const Topology odd({3, 4}, 0);
  EXPECT_EQ(odd.tpc_count(), 4);
  EXPECT_EQ(odd.sibling(2), std::nullopt);
  EXPECT_EQ(odd.sibling(3), 4);
  EXPECT_EQ(odd.sibling(4), 3);
  EXPECT_FALSE(odd.is_second_of_tpc(3));
  EXPECT_TRUE(odd.is_second_of_tpc(4));
  EXPECT_EQ(odd.tpc_of(2), 1);
  EXPECT_EQ(odd.tpc_of(3), 2);
  EXPECT_EQ(odd.tpc_of(6), 3);
}

TEST(Topology, AnUnknownDeviceHasEvenGpcsOfWholeTpcs) {
  EXPECT_THAT(Topology::even(132).gpc_sms(), ElementsAre(18, 18, 16, 16, 16, 16, 16, 16));
  EXPECT_THAT(Topology::even(15).gpc_sms(), ElementsAre(15));
  EXPECT_THAT(Topology::even(15, 8).gpc_sms(), ElementsAre(8, 7));
  EXPECT_THAT(Topology::even(1).gpc_sms(), ElementsAre(1));
  for (int sms = 1; sms <= 300; ++sms) EXPECT_EQ(Topology::even(sms).sm_count(), sms);
}

}  // namespace
}  // namespace occbench
