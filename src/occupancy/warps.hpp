#pragma once

namespace occbench {

/// Threads of a warp, on every compute capability so far.
inline constexpr int kThreadsPerWarp = 32;

/// Warps of a block; one that is not full counts whole.
constexpr int warps_of_block(int block_threads) {
  return (block_threads + kThreadsPerWarp - 1) / kThreadsPerWarp;
}

}  // namespace occbench
