#pragma once

#include <vector>

#include "occupancy/occupancy.hpp"

namespace occbench {

/// The warp slots of all SMs, by sub-partition.
///
/// As seen on an H200 (docs/prediction.md, "Room of exited warps"): an exited warp's slot and registers are
/// free at once, but an SM takes new blocks only when a block ends. Warps go to the sub-partitions round
/// robin, and each block continues where the one before it on that SM ended: while the sub-partitions that
/// come next are full, it waits, whatever is free in the others.
class WarpSlots {
 public:
  WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count);

  /// Blocks that fit into the slots that are free on an SM at `now`.
  int blocks_that_fit(int sm, double now) const;

  /// Where a warp is resident.
  struct Slot {
    int partition;
    int index;  ///< within its sub-partition
  };

  /// Gives the warps of a block slots that are free at `now`; there must be room. The slots stay taken until
  /// `free_at`.
  void take(int sm, double now, std::vector<Slot>& of_warps);

  /// A warp's slot is free from `time` on.
  void free_at(int sm, Slot slot, double time) {
    ends_[at(sm, slot.partition) + static_cast<std::size_t>(slot.index)] = time;
  }

  int partitions() const {
    return static_cast<int>(partitions_);
  }

 private:
  static constexpr int kMaxPartitions = 4;

  std::size_t at(int sm, int partition) const {
    return (static_cast<std::size_t>(sm) * partitions_ + static_cast<std::size_t>(partition)) * slots_;
  }

  std::size_t partitions_;
  std::size_t slots_;  ///< per sub-partition, as many as registers and warp limit allow
  int warps_per_block_;
  std::vector<double> ends_;
  std::vector<int> next_partition_;  ///< of each SM: where the next block's first warp goes
};

}  // namespace occbench
