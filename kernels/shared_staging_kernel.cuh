#pragma once

#include <cstdint>

#include "kernels/stay.hpp"

namespace occbench {
namespace {

/// Blocks read overlapping stretches of this many words.
inline constexpr std::uint32_t kSourceWords = 1U << 16;
inline constexpr std::uint32_t kBlockStride = 4099;

struct SharedStagingArguments {
  const std::uint32_t* source;
  std::uint32_t dynamic_words;
  std::uint32_t cycles;
  std::uint32_t* sums;  ///< one per thread
};

__device__ inline void fill(std::uint32_t* shared, std::uint32_t words, const std::uint32_t* source,
                            std::uint32_t first) {
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    shared[i] = source[(blockIdx.x * kBlockStride + first + i) % kSourceWords];
  }
}

/// Sums words that other threads wrote.
__device__ inline std::uint32_t sum_up(const std::uint32_t* shared, std::uint32_t words) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) sum += shared[words - 1 - i];
  return sum;
}

template <int kStaticBytes>
__global__ void shared_staging_kernel(SharedStagingArguments arguments) {
  const long long start = clock64();
  extern __shared__ std::uint32_t dynamic_memory[];
  constexpr std::uint32_t kStaticWords = kStaticBytes / sizeof(std::uint32_t);
  std::uint32_t sum = 0;
  fill(dynamic_memory, arguments.dynamic_words, arguments.source, kStaticWords);
  if constexpr (kStaticBytes > 0) {
    __shared__ std::uint32_t static_memory[kStaticWords];
    fill(static_memory, kStaticWords, arguments.source, 0);
    __syncthreads();
    sum = sum_up(static_memory, kStaticWords);
  } else {
    __syncthreads();
  }
  sum += sum_up(dynamic_memory, arguments.dynamic_words);
  stay(start, arguments.cycles);
  arguments.sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

}  // namespace
}  // namespace occbench
