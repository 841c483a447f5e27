#include "schedule/placement.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "schedule/portable_math.hpp"

namespace occbench {
namespace {

TEST(RoomIndex, FindsTheRoomiestSmAsALinearSearchDoes) {
  constexpr int sms = 132;
  RoomIndex index(sms, 32);
  std::vector<int> rooms(sms, 0);
  EXPECT_EQ(index.roomiest(), -1);
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const int sm = static_cast<int>(random_bits(1, step) % sms);
    const int room = static_cast<int>(random_bits(2, step) % 7);
    rooms[static_cast<std::size_t>(sm)] = room;
    index.set_room(sm, room);
    const auto most = std::ranges::max_element(rooms);  // the first of the largest
    ASSERT_EQ(index.roomiest(), *most == 0 ? -1 : most - rooms.begin());
    int total = 0;
    for (const int each : rooms) total += each;
    ASSERT_EQ(index.total(), total);
  }
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

TEST(WarpSlots, ABlockWaitsForTheSubPartitionsWhoseTurnItIs) {
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

TEST(FirstFill, AGridThatLeavesRoomIsSpreadOverPairsOfSms) {
  // As recorded on an H200: of 317 blocks (five a pair of SMs) none has four, and the third ones went to the
  // first SM of each pair.
  FirstFill fill(132, 8, 92, 8, 317);
  std::vector<int> blocks(132);
  for (int block = 0; block < 317; ++block) ++blocks[static_cast<std::size_t>(fill.next())];
  for (std::size_t sm = 0; sm < blocks.size(); ++sm) {
    EXPECT_GE(blocks[sm], 2) << sm;
    EXPECT_LE(blocks[sm], sm < 8 || sm % 2 == 0 ? 3 : 2) << sm;
  }
  EXPECT_EQ(std::ranges::count(blocks, 3), 53);
}

TEST(FirstFill, EagerSmsAreFullBeforeTheOthers) {
  FirstFill fill(132, 8, 92, 2, 264);
  std::vector<int> order;
  for (int block = 0; block < 264; ++block) order.push_back(fill.next());
  EXPECT_EQ(fill.next(), -1);
  EXPECT_EQ(order[0], 0);
  EXPECT_EQ(order[100], 0);  // 8 + 92 blocks later, when 32 SMs have had none
  EXPECT_EQ(std::ranges::count(order, 131), 2);
  EXPECT_EQ(order[263], 131);
}

}  // namespace
}  // namespace occbench
