#include "schedule/placement.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace occbench {

namespace {

/// Warps that one sub-partition can hold, by the SM's warp limit and by its registers.
int slots_of_partition(const Limits& limits, const Occupancy& occupancy, int partitions) {
  const int by_warps = limits.max_warps_per_sm / partitions;
  if (occupancy.registers_per_block == 0) return by_warps;
  const int registers_per_warp =
      (occupancy.registers_per_block + occupancy.warps_per_block - 1) / occupancy.warps_per_block;
  return std::min(by_warps, limits.registers_per_sm / partitions / registers_per_warp);
}

}  // namespace

WarpSlots::WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count)
    : partitions_(static_cast<std::size_t>(std::clamp(limits.sub_partitions, 1, kMaxPartitions))),
      slots_(static_cast<std::size_t>(slots_of_partition(limits, occupancy, static_cast<int>(partitions_)))),
      warps_per_block_(occupancy.warps_per_block),
      ends_(static_cast<std::size_t>(sm_count) * partitions_ * slots_) {}

WarpSlots::Free WarpSlots::free_slots(int sm, double now) const {
  Free free{};
  const double* end = ends_.data() + at(sm, 0);
  for (std::size_t partition = 0; partition < partitions_; ++partition) {
    for (std::size_t slot = 0; slot < slots_; ++slot) free[partition] += *end++ <= now;
  }
  return free;
}

int WarpSlots::warps_in(int partition, int first) const {
  const int partitions = static_cast<int>(partitions_);
  const int place = (partition - first + partitions) % partitions;
  return warps_per_block_ / partitions + (place < warps_per_block_ % partitions);
}

int WarpSlots::first_partition(const Free& free) const {
  int best = -1;
  std::pair<int, int> best_left{-1, 0};
  for (int first = 0; first < static_cast<int>(partitions_); ++first) {
    int least = std::numeric_limits<int>::max();
    int most = 0;
    for (int partition = 0; partition < static_cast<int>(partitions_); ++partition) {
      const int left = free[static_cast<std::size_t>(partition)] - warps_in(partition, first);
      least = std::min(least, left);
      most = std::max(most, left);
    }
    if (least >= 0 && std::pair(least, -most) > best_left) {
      best = first;
      best_left = {least, -most};
    }
  }
  return best;
}

int WarpSlots::blocks_that_fit(int sm, double now) const {
  Free free = free_slots(sm, now);
  for (int blocks = 0;; ++blocks) {
    const int first = first_partition(free);
    if (first < 0) return blocks;
    for (std::size_t partition = 0; partition < partitions_; ++partition) {
      free[partition] -= warps_in(static_cast<int>(partition), first);
    }
  }
}

void WarpSlots::take(int sm, double now, std::vector<Slot>& of_warps) {
  const int first = first_partition(free_slots(sm, now));
  const int partitions = static_cast<int>(partitions_);
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
