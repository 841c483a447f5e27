#include "simulate/dispatcher.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simulate/block_execution.hpp"

namespace occbench {
namespace {

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

}  // namespace
}  // namespace occbench
