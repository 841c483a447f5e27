#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "occupancy/configuration.hpp"

namespace occbench {

// The rules by which an SM's resources become a number of blocks, with the figures of one configuration.

/// Threads fill whole warps, and the SM holds so many of them.
struct WarpFigures {
  int block_threads;
  int threads_per_warp;
  int warps_per_block;  ///< a partial warp counts whole
  int max_warps_per_sm;
};

/// The SM holds so many blocks, fewer of clusters.
struct BlockSlotFigures {
  int slots;
  bool of_clusters;
};

/// Registers are allocated in units: per warp from 2.0 on, per block on 1.x.
struct RegisterFigures {
  int asked_per_thread;
  int block_threads;
  int warps_per_block;
  bool by_block;             ///< 1.x
  int unit;                  ///< registers
  int allocated_per_thread;  ///< 2.0 on
  int allocated_warps;       ///< 1.x: warps that a block is charged for
  int allocated_per_block;
  int pools;  ///< parts of the SM's registers that no block straddles
  int registers_per_pool;
  int sub_partitions;           ///< of a pool: each allocates to whole warps of its own
  int warps_per_sub_partition;  ///< 2.0 on
  int checked_per_block;  ///< what the launch is checked by: its warps rounded up to whole sub-partitions
  int max_per_block;
};

/// The driver reserves part of each block's shared memory, and the sum is allocated in units.
struct SharedMemoryFigures {
  std::int64_t asked_bytes;  ///< static and dynamic
  int reserved_bytes;
  int unit;  ///< bytes
  std::int64_t allocated_bytes;
  std::int64_t max_bytes_per_block;  ///< reserve included
  std::optional<int> carveout_pct;
  int configured_bytes_per_sm;  ///< what the carveout leaves
  int max_bytes_per_sm;
};

/// Named barriers of an SM.
struct BarrierFigures {
  int barriers_per_block;
  int max_barriers_per_sm;
};

/// A rule that was applied: what it is about, its figures, and the blocks that it alone allows.
struct AppliedRule {
  Limiter resource;
  std::variant<WarpFigures, BlockSlotFigures, RegisterFigures, SharedMemoryFigures, BarrierFigures> figures;
  int blocks;   ///< kUnlimited where the resource does not limit
  bool limits;  ///< no other rule allows fewer blocks
};

/// A rule for each resource that bears on the configuration, in the order of Limiter.
/// @throws InputError as theoretical_occupancy.
std::vector<AppliedRule> applied_rules(const Limits& limits, const Configuration& configuration);

/// The rule as a sentence with its figures, without a full stop: "33 registers x 512 threads: 33 -> 40 per
/// thread by the 256-register unit per warp, 20,480 registers a block; 65,536 / 20,480 = 3 blocks".
std::string to_string(const AppliedRule& rule);

}  // namespace occbench
