#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace occbench {

/// A GPU's compute capability, as in `sm_90` = 9.0.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  auto operator<=>(const ComputeCapability&) const = default;
};

/// "9.0"
std::string to_string(ComputeCapability capability);

/// The number of version steps in between: 1 from 8.9 to 9.0.
int distance(ComputeCapability one, ComputeCapability other);

/// Reads "9.0", "90", "sm_90" or "compute_90" (also "12.1", "121", "sm_121").
/// @throws InputError if the text has none of these forms, or is a bare "12", which may be 12.0 or 1.2. It does not
/// check whether the limits table knows it.
ComputeCapability parse_compute_capability(std::string_view text);

/// The resources of one SM of a compute capability, and their allocation units. One line of the table in limits.cpp,
/// which names the source of every figure.
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
  int warp_allocation_granularity;  ///< 1.x: a block's warps are rounded up to this; later: parts of an SM, each with
                                    ///< registers of its own
  int launch_check_granularity;  ///< a block's warps, rounded up to this, must fit max_registers_per_block
  int shared_bytes_per_sm;
  int max_shared_bytes_per_block_default;  ///< without opting in to more
  int max_shared_bytes_per_block;          ///< with opting in, the driver's reserved bytes not counted
  int shared_allocation_unit;              ///< bytes
  int reserved_shared_bytes_per_block;     ///< bytes the driver takes of each block's shared memory
  std::span<const int> carveouts_kb;       ///< sizes that shared memory can be configured to, KB, ascending
  int sub_partitions;                      ///< warp schedulers (with register files of their own from 3.0 on)
  int max_barriers_per_sm;                 ///< named barriers; 0 if they do not limit
  int fp32_lanes;                          ///< FP32 operations (fused multiply-adds) per cycle
  int min_threads_per_block = 1;           ///< more only for a kernel that requires a block size
  int min_registers_per_thread =
      1;  ///< more only for a kernel that spills already, or may, or has local arrays

  constexpr int max_threads_per_sm() const {
    return max_warps_per_sm * threads_per_warp;
  }
};

/// Resident threads of an SM over the FP32 multiply-adds that it starts in a cycle: how many threads share a
/// lane.
constexpr double threads_per_lane(const Limits& limits, int resident_threads) {
  return static_cast<double>(resident_threads) / limits.fp32_lanes;
}

/// More than any GPU to date has.
inline constexpr int kMostSmsOfGpu = 1024;

/// All known compute capabilities, ascending.
std::span<const Limits> all_limits();

/// nullptr if the table lacks the compute capability.
const Limits* find_limits(ComputeCapability capability);

/// @throws InputError for a compute capability that the table lacks, naming the nearest that it has.
const Limits& limits_of(ComputeCapability capability);

/// A limit of a compute capability as `occbench calc --limits` names it.
struct LimitColumn {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  std::int64_t (*value)(const Limits&);
};

/// Every number of a line of the limits table, in the order of print, except the carveouts, which are several.
std::span<const LimitColumn> limit_columns();

}  // namespace occbench
