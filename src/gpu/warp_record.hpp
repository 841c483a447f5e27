#pragma once

#include <cstdint>

#include "occupancy/warps.hpp"

namespace occbench {

/// A warp's record of itself: where it ran, and the times of its first and last instruction.
struct WarpRecord {
  std::int64_t start_cycles = 0;  ///< clock64: cycles of its SM, comparable only on that SM
  std::int64_t end_cycles = 0;
  std::int64_t start_ns = 0;  ///< globaltimer: one clock for all SMs, in steps (32 ns on an H200)
  std::int64_t end_ns = 0;
  std::uint32_t sm = 0;    ///< %smid
  std::uint32_t slot = 0;  ///< %warpid: its slot on the SM, free for another warp after it has ended

  bool operator==(const WarpRecord&) const = default;
};

#ifdef __CUDACC__

__device__ inline std::int64_t global_nanoseconds() {
  std::int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// The SM that this thread is on.
__device__ inline std::uint32_t current_sm() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// The first half of a record; `start_cycles` = clock64 at the warp's first instruction.
__device__ inline WarpRecord begin_record(std::int64_t start_cycles) {
  WarpRecord record;
  record.start_cycles = start_cycles;
  record.start_ns = global_nanoseconds();
  record.sm = current_sm();
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(record.slot));
  return record;
}

/// The other half, written by each warp's first lane. `records` has one per warp, block by block.
__device__ inline void end_record(WarpRecord record, WarpRecord* records) {
  if (threadIdx.x % 32 != 0) return;
  const int warps_per_block = warps_of_block(static_cast<int>(blockDim.x));
  record.end_cycles = clock64();
  record.end_ns = global_nanoseconds();
  records[static_cast<std::int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / 32] = record;
}

#endif

}  // namespace occbench
