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

}  // namespace
}  // namespace occbench
