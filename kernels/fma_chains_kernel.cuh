#pragma once

#include "kernels/chain_body.hpp"
#include "kernels/static_shared.cuh"

namespace occbench {
namespace {

/// So close to 1 that one multiply-add more or less changes the result. It is an immediate, so that the
/// instruction reads two registers: reading three that no other instruction of the warp has just used takes
/// two cycles.
inline constexpr float kFactor = 0.99995F;
/// Threads with the same number modulo this have the same inputs.
inline constexpr unsigned kChainInputSets = 8;

struct ChainArguments {
  const float* inputs;  ///< [kMostChains + 1][kChainInputSets]: first values, addend
  int rounds;
  float* sums;  ///< one per thread
};

/// Dependent instructions of a chain in a round. At most one instruction in 80 is loop overhead.
constexpr int steps(ChainBody body, int chains) {
  return (body == ChainBody::fma ? 512 : 256) / chains;
}

__device__ inline float power_of_two(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

__device__ inline float logarithm(float value) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

/// A multiply-add, or alternately a power of two and the logarithm that undoes it.
template <ChainBody kBody>
__device__ float next(float value, int step, float addend) {
  if constexpr (kBody == ChainBody::fma) return __fmaf_rn(value, kFactor, addend);
  return step % 2 == 0 ? power_of_two(value) : logarithm(value);
}

template <ChainBody kBody, int kFmaChains>
__global__ void fma_chains_kernel(ChainArguments arguments) {
  keep_static_shared();
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const float* const inputs = arguments.inputs + thread % kChainInputSets;
  float values[kFmaChains];
  float sums[kFmaChains] = {};
#pragma unroll
  for (int chain = 0; chain < kFmaChains; ++chain) values[chain] = inputs[chain * kChainInputSets];
  const float addend = inputs[kMostChains * kChainInputSets];
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
#pragma unroll
    for (int step = 0; step < steps(kBody, kFmaChains); ++step) {
#pragma unroll
      for (int chain = 0; chain < kFmaChains; ++chain) {
        values[chain] = next<kBody>(values[chain], step, addend);
      }
    }
    if constexpr (kBody == ChainBody::exponential) {
#pragma unroll
      for (int chain = 0; chain < kFmaChains; ++chain) sums[chain] += values[chain];
    }
  }
  float total = 0;
#pragma unroll
  for (int chain = 0; chain < kFmaChains; ++chain) {
    total += kBody == ChainBody::fma ? values[chain] : sums[chain];
  }
  arguments.sums[thread] = total;
}

}  // namespace
}  // namespace occbench
