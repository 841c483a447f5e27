#pragma once

#include <cstdint>

// Shared by kernels whose warps stay for a time and their host halves. It is also compiled at run time, so it
// includes almost nothing.
namespace occbench {

/// Cycles for which each warp of a launch must stay, in device memory, as a kernel parameter.
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

/// For warps in stay(): fits to the counters of six H200s found 2 to 2.54.
inline constexpr double kPollCyclesPerWarp = 2.5;

#ifdef __CUDACC__
/// Stays until `wanted` cycles have passed since `start` (clock64). Warps that poll often keep younger warps
/// of their sub-partition from polling at all: in uneven work with sleeps of 20 ns, some stayed a quarter too
/// long. So they poll rarely until little is left: a sleep may last twice as long as requested, 400 ns or
/// 1,200 cycles at 3 GHz.
__device__ inline void stay(long long start, long long wanted) {
  constexpr long long kLittle = 2'000;
  while (true) {
    const long long left = wanted - (clock64() - start);
    if (left <= 0) return;
    __nanosleep(left > kLittle ? 200 : 20);
  }
}
#endif

}  // namespace occbench
