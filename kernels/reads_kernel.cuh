#pragma once

#include <cstdint>

#include "kernels/reads_arguments.hpp"
#include "kernels/static_shared.cuh"

namespace occbench {
namespace {

__device__ inline std::uint32_t sum_of(std::uint32_t word) {
  return word;
}
__device__ inline std::uint32_t sum_of(uint2 words) {
  return words.x + words.y;
}
__device__ inline std::uint32_t sum_of(uint4 words) {
  return words.x + words.y + words.z + words.w;
}

/// Bounded so that the compiler uses the registers that all loads in flight need, and not fewer for more
/// warps.
template <typename Words, int kInFlight>
__global__ void __launch_bounds__(kReadsBlockThreads, 8) reads_kernel(ReadsArguments arguments) {
  keep_static_shared();
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const Words* place = static_cast<const Words*>(arguments.source) + thread;
  std::uint32_t sum = 0;
#pragma unroll 1
  for (std::int64_t wait = 0; wait < arguments.waits; ++wait) {
    Words words[kInFlight];
#pragma unroll
    for (int load = 0; load < kInFlight; ++load) words[load] = __ldg(place + load * threads);
#pragma unroll
    for (int load = 0; load < kInFlight; ++load) sum += sum_of(words[load]);
    place += kInFlight * threads;
  }
  arguments.sums[thread] = sum;
}

}  // namespace
}  // namespace occbench
