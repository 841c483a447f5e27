#pragma once

#include <cstdint>

#include "gpu/kernel.hpp"
#include "gpu/launch.hpp"
#include "kernels/stay.hpp"

namespace occbench {

/// The cycles that `Work` gives each warp of `blocks` blocks: one value for equal work, else one per block or
/// warp.
class WarpCycles {
 public:
  /// @throws InputError if a unit is longer than 4,294,967,294 cycles; CudaError.
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

/// Whether a unit that had to stay for `wanted` cycles and stayed for `held` is right: not shorter, and
/// longer only by the time for starting, sleeping and recording. Small cases have no upper bound, because
/// they run under tools that slow everything down.
inline bool stayed_as_asked(const Case& chosen, std::int64_t wanted, std::int64_t held) {
  constexpr std::int64_t kSlackCycles = 20'000;
  return held >= wanted && (chosen.small || held <= wanted + kSlackCycles);
}

}  // namespace occbench
