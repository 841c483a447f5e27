#include "schedule/placement.hpp"

#include <algorithm>
#include <limits>

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

FirstFill::FirstFill(int sm_count, int eager_sms, int eager_period, int blocks_per_sm,
                     std::int64_t grid_blocks)
    : sm_count_(sm_count),
      eager_sms_(eager_sms),
      eager_period_(eager_period),
      taken_(static_cast<std::size_t>(sm_count)),
      next_(eager_sms) {
  const int pairs = (sm_count + 1) / 2;
  const std::int64_t share = (grid_blocks + pairs - 1) / pairs;
  share_ = {static_cast<int>(std::min<std::int64_t>(blocks_per_sm, (share + 1) / 2)),
            static_cast<int>(std::min<std::int64_t>(blocks_per_sm, share / 2))};
}

bool FirstFill::take(int sm) {
  const bool first_of_pair = sm < eager_sms_ || sm % 2 == 0;
  int& taken = taken_[static_cast<std::size_t>(sm)];
  if (taken >= share_[first_of_pair ? 0 : 1]) return false;
  ++taken;
  return true;
}

int FirstFill::next() {
  if (since_eager_ >= eager_period_) {
    next_eager_ = 0;
    since_eager_ = 0;
  }
  while (next_eager_ < eager_sms_) {
    if (take(next_eager_++)) return next_eager_ - 1;
  }
  for (int tried = eager_sms_; tried < sm_count_; ++tried) {
    const int sm = next_;
    next_ = next_ + 1 < sm_count_ ? next_ + 1 : eager_sms_;
    if (!take(sm)) continue;
    ++since_eager_;
    return sm;
  }
  for (int sm = 0; sm < eager_sms_; ++sm) {
    if (take(sm)) return sm;
  }
  return -1;
}

WarpSlots::WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count)
    : partitions_(static_cast<std::size_t>(std::clamp(limits.sub_partitions, 1, kMaxPartitions))),
      slots_(static_cast<std::size_t>(slots_of_partition(limits, occupancy, static_cast<int>(partitions_)))),
      warps_per_block_(occupancy.warps_per_block),
      ends_(static_cast<std::size_t>(sm_count) * partitions_ * slots_),
      next_partition_(static_cast<std::size_t>(sm_count)) {}

WarpSlots::Free WarpSlots::free_slots(int sm, double now) const {
  Free free{};
  const double* end = ends_.data() + at(sm, 0);
  for (std::size_t partition = 0; partition < partitions_; ++partition) {
    for (std::size_t slot = 0; slot < slots_; ++slot) free[partition] += *end++ <= now;
  }
  return free;
}

bool WarpSlots::place_block(Free& free, int& first) const {
  const int partitions = static_cast<int>(partitions_);
  Free left = free;
  for (int place = 0; place < partitions; ++place) {
    int& slots = left[static_cast<std::size_t>((first + place) % partitions)];
    slots -= warps_per_block_ / partitions + (place < warps_per_block_ % partitions);
    if (slots < 0) return false;
  }
  free = left;
  first = (first + warps_per_block_) % partitions;
  return true;
}

int WarpSlots::blocks_that_fit(int sm, double now) const {
  Free free = free_slots(sm, now);
  int first = next_partition_[static_cast<std::size_t>(sm)];
  int blocks = 0;
  while (place_block(free, first)) ++blocks;
  return blocks;
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
