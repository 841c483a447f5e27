#include "simulate/warp_slots.hpp"

#include <algorithm>
#include <limits>

namespace occbench {

namespace {

/// Warps that one sub-partition can hold, by the SM's warp limit and by its registers; never fewer than the
/// SM's blocks need, where registers are handed out to blocks instead of warps (1.x) or sub-partitions share
/// them (2.x).
int slots_of_partition(const Limits& limits, const Occupancy& occupancy, int partitions) {
  const int by_warps = limits.max_warps_per_sm / partitions;
  if (occupancy.registers_per_block == 0) return by_warps;
  const int registers_per_warp =
      (occupancy.registers_per_block + occupancy.warps_per_block - 1) / occupancy.warps_per_block;
  const int needed = (occupancy.blocks_per_sm * occupancy.warps_per_block + partitions - 1) / partitions;
  return std::max(needed, std::min(by_warps, limits.registers_per_sm / partitions / registers_per_warp));
}

}  // namespace

WarpSlots::WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count)
    : partitions_(static_cast<std::size_t>(std::clamp(limits.sub_partitions, 1, kMaxPartitions))),
      slots_(static_cast<std::size_t>(slots_of_partition(limits, occupancy, static_cast<int>(partitions_)))),
      warps_per_block_(occupancy.warps_per_block),
      ends_(static_cast<std::size_t>(sm_count) * partitions_ * slots_),
      next_partition_(static_cast<std::size_t>(sm_count)) {}

int WarpSlots::blocks_that_fit(int sm, double now) const {
  // After n blocks the sub-partition that is `place` after the first one has ceil((n * warps - place) /
  // partitions) warps more.
  const auto first = static_cast<std::size_t>(next_partition_[static_cast<std::size_t>(sm)]);
  std::size_t blocks = std::numeric_limits<std::size_t>::max();
  for (std::size_t place = 0; place < partitions_; ++place) {
    const double* ends = ends_.data() + at(sm, static_cast<int>((first + place) % partitions_));
    std::size_t free = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) free += ends[slot] <= now;
    blocks = std::min(blocks, (partitions_ * free + place) / static_cast<std::size_t>(warps_per_block_));
  }
  return static_cast<int>(blocks);
}

void WarpSlots::take(int sm, double now, std::vector<Slot>& of_warps) {
  const int partitions = static_cast<int>(partitions_);
  int& next = next_partition_[static_cast<std::size_t>(sm)];
  const int first = next;
  next = (next + warps_per_block_) % partitions;
  of_warps.resize(static_cast<std::size_t>(warps_per_block_));
  for (int partition = 0; partition < partitions; ++partition) {
    const std::size_t base = at(sm, partition);
    int slot = 0;
    for (int warp = (partition - first + partitions) % partitions; warp < warps_per_block_;
         warp += partitions) {
      while (ends_[base + static_cast<std::size_t>(slot)] > now) ++slot;
      ends_[base + static_cast<std::size_t>(slot)] = std::numeric_limits<double>::infinity();
      of_warps[static_cast<std::size_t>(warp)] = {partition, slot++};
    }
  }
}

}  // namespace occbench
