#pragma once

#include <cstdint>

#include "gpu/kernel.hpp"
#include "gpu/resources.hpp"

namespace occbench {

/// How long each warp of a launch has to stay, in device memory, as a kernel's parameter.
struct WarpCyclesView {
  const std::uint32_t* values;
  std::int64_t block_stride;
  int warp_stride;

#ifdef __CUDACC__
  __device__ long long of(std::int64_t block, unsigned warp) const {
    return values[block * block_stride + warp * warp_stride];
  }
#endif
};

/// Of warps that stay() for a time: fits to the counters of six H200s found 2 to 2.54 (kernels/spin.cu).
inline constexpr double kPollCyclesPerWarp = 2.5;

#ifdef __CUDACC__
/// Stays until `wanted` cycles have gone by since `start` (clock64). Warps that look often keep the younger
/// ones of their sub-partition from looking at all: in uneven work with sleeps of 20 ns, some stayed a
/// quarter longer than they were to. So they look seldom until little is left: a sleep may last twice as long
/// as asked for, 400 ns or 1,200 cycles at 3 GHz.
__device__ inline void stay(long long start, long long wanted) {
  constexpr long long kLittle = 2'000;
  while (true) {
    const long long left = wanted - (clock64() - start);
    if (left <= 0) return;
    __nanosleep(left > kLittle ? 200 : 20);
  }
}
#endif

/// The cycles that `Work` gives each warp of `blocks` blocks: one value for equal work, else one a block or a
/// warp.
class WarpCycles {
 public:
  /// @throws InputError where a unit is longer than 4,294,967,294 cycles; CudaError.
  WarpCycles(Work work, std::int64_t blocks, int warps_per_block);

  WarpCyclesView view() const {
    return {values_.data(), block_stride_, warp_stride_};
  }
  std::int64_t of(std::int64_t block, int warp) const {
    return work_.cycles_of_warp(block, warp, blocks_, warps_per_block_);
  }

  /// Sum over all warps.
  double total() const;

 private:
  Work work_;
  std::int64_t blocks_;
  int warps_per_block_;
  std::int64_t block_stride_ = 0;
  int warp_stride_ = 0;
  DeviceBuffer<std::uint32_t> values_;
};

/// Whether a unit that had to stay for `wanted` cycles and stayed for `held` did so: not shorter, and no
/// longer than by what starting, sleeping and writing down may take. The upper bound is left out for cases
/// made small, which run under tools that make everything slower.
inline bool stayed_as_asked(const Case& chosen, std::int64_t wanted, std::int64_t held) {
  constexpr std::int64_t kSlackCycles = 20'000;
  return held >= wanted && (chosen.small || held <= wanted + kSlackCycles);
}

}  // namespace occbench
