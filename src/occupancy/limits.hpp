#pragma once

#include <span>

#include "occupancy/compute_capability.hpp"

namespace occbench {

/// What one SM of a compute capability offers, and the units it hands resources out in. One line of the table
/// in limits.cpp, which names the source of every figure.
struct Limits {
  ComputeCapability compute_capability;
  int threads_per_warp;
  int max_warps_per_sm;
  int max_blocks_per_sm;
  int max_threads_per_block;
  int max_cluster_blocks;  ///< largest cluster that a kernel may ask for, non-portable sizes included; 1 =
                           ///< none
  int registers_per_sm;    ///< 32-bit registers
  int register_pools;      ///< equal parts of registers_per_sm that no block's registers straddle
  int max_registers_per_block;
  int max_registers_per_thread;
  int register_allocation_unit;  ///< registers: per warp (2.0 on) or per block (1.x) rounded up to this
  int coarse_register_allocation_unit;  ///< the unit for the register counts 21, 22, 29, 30, 37, 38, 45 and
                                        ///< 46
  bool registers_by_block;          ///< 1.x allocates registers for a whole block, later ones for each warp
  int warp_allocation_granularity;  ///< warps get registers in multiples of this
  int launch_check_granularity;     ///< a block's warps, rounded up to this, must fit max_registers_per_block
  int shared_bytes_per_sm;
  int max_shared_bytes_per_block_default;  ///< without opting in to more
  int max_shared_bytes_per_block;          ///< with opting in, the driver's reserved bytes not counted
  int shared_allocation_unit;              ///< bytes
  int reserved_shared_bytes_per_block;     ///< bytes the driver takes of each block's shared memory
  std::span<const int> carveouts_kb;       ///< sizes that shared memory can be configured to, KB, ascending
  int sub_partitions;                      ///< warp schedulers (with register files of their own from 3.0 on)
  int max_barriers_per_sm;                 ///< named barriers; 0 where they do not limit
  int fp32_lanes;                          ///< FP32 operations (fused multiply-adds) per cycle

  constexpr int max_threads_per_sm() const {
    return max_warps_per_sm * threads_per_warp;
  }
};

/// Resident threads of an SM over the FP32 multiply-adds that it starts in a cycle: how many threads share a
/// lane.
constexpr double threads_per_lane(const Limits& limits, int resident_threads) {
  return static_cast<double>(resident_threads) / limits.fp32_lanes;
}

/// All known compute capabilities, ascending.
std::span<const Limits> all_limits();

/// nullptr where the table lacks the compute capability.
const Limits* find_limits(ComputeCapability capability);

/// @throws InputError for a compute capability that the table lacks, naming the nearest that it has.
const Limits& limits_of(ComputeCapability capability);

}  // namespace occbench
