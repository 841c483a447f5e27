#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/warp_record.hpp"

namespace occbench {

// Evaluates the records of a launch's warps: plain functions over one record per warp, block by block, as
// Prepared::record_warps returns them. The recorded launch differs from the one that is timed and counted:
// writing a record moved achieved occupancy by 4 to 10 points if the last wave is partial.

/// One block as its warps recorded it.
struct BlockRecord {
  std::int64_t block = 0;  ///< index in the grid
  std::uint32_t sm = 0;
  std::int64_t start_cycles = 0;  ///< of its first warp, on the clock of its SM
  std::int64_t end_cycles = 0;    ///< of its last warp
  std::int64_t start_ns = 0;      ///< likewise, on the clock of the device
  std::int64_t end_ns = 0;

  bool operator==(const BlockRecord&) const = default;
};

/// Blocks in grid order. @throws InputError if the records are not a whole number of blocks.
std::vector<BlockRecord> blocks_of(std::span<const WarpRecord> records, int warps_per_block);

/// Activity of one SM. SMs without blocks are left out.
struct SmRecord {
  std::uint32_t sm = 0;
  std::int64_t blocks = 0;         ///< that ran here
  std::int64_t most_blocks = 0;    ///< resident at once
  std::int64_t active_cycles = 0;  ///< in which at least one warp was resident
  std::int64_t warp_cycles = 0;    ///< summed over warps

  /// Warps resident in active cycles, percent of `max_warps_per_sm`: this SM's achieved occupancy.
  double achieved_pct(int max_warps_per_sm) const {
    return 100 * static_cast<double>(warp_cycles) / (static_cast<double>(active_cycles) * max_warps_per_sm);
  }

  bool operator==(const SmRecord&) const = default;
};

/// Ascending by SM.
std::vector<SmRecord> sms_of(std::span<const WarpRecord> records, int warps_per_block);

/// Achieved occupancy as the counter defines it: over the active cycles of all SMs together, percent.
double achieved_pct(std::span<const SmRecord> sms, int max_warps_per_sm);

/// For each block that started after another had ended on its SM: cycles from the latest such end to its
/// start. In the order of the grid.
std::vector<std::int64_t> replacement_latency_cycles(std::span<const BlockRecord> blocks);

}  // namespace occbench
