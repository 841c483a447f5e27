#pragma once

namespace occbench {

/// Threads of a warp, on every compute capability so far.
inline constexpr int kThreadsPerWarp = 32;

/// Warps of a block; a partial warp counts whole.
constexpr int warps_of_block(int block_threads) {
  return (block_threads + kThreadsPerWarp - 1) / kThreadsPerWarp;
}

/// Share of the lanes of a block's warps that have a thread.
constexpr double used_lanes(int block_threads) {
  return static_cast<double>(block_threads) / (warps_of_block(block_threads) * kThreadsPerWarp);
}

/// From this share of lanes without a thread on, occupancy misleads, since it counts warps: a choice.
inline constexpr double kIdleLanes = 0.25;

/// Whether at least that share has no thread.
constexpr bool leaves_lanes_idle(int block_threads) {
  return 1 - used_lanes(block_threads) >= kIdleLanes;
}

}  // namespace occbench
