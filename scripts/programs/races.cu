// Who makes the hazards that racecheck reports of reduce_by_cooperative_groups? Each variant sums 256 values a block
// the way cooperative_groups' collectives_scheme does, with one thing changed.
//
//     nvcc -std=c++20 -O2 -lineinfo -arch=sm_90 --expt-relaxed-constexpr -Isrc -I. -o races scripts/programs/races.cu
//     compute-sanitizer --tool racecheck ./races VARIANT 4
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>

namespace groups = cooperative_groups;
constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ float sum_of_warp(float sum, int lanes = 32) {
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  return sum;
}

// The library alone: one reduce, no shared storage of the kernel's own is used but block_tile_memory.
__global__ void library(const float* in, float* out) {
  __shared__ groups::block_tile_memory<kThreads> memory;
  const auto tile = groups::tiled_partition<kThreads>(groups::this_thread_block(memory));
  const float sum = groups::reduce(tile, in[blockIdx.x * kThreads + threadIdx.x], groups::plus<float>());
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
// The same without block_tile_memory (from 8.0 on the library has reserved shared memory).
__global__ void library_without_memory(const float* in, float* out) {
  const auto tile = groups::tiled_partition<kThreads>(groups::this_thread_block());
  const float sum = groups::reduce(tile, in[blockIdx.x * kThreads + threadIdx.x], groups::plus<float>());
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
// A tile of one warp: no shared memory.
__global__ void library_warp(const float* in, float* out) {
  const auto tile = groups::tiled_partition<32>(groups::this_thread_block());
  const float sum = groups::reduce(tile, in[blockIdx.x * kThreads + threadIdx.x], groups::plus<float>());
  if (tile.thread_rank() == 0) atomicAdd(out + blockIdx.x, sum);
}
// Its exchange by hand in own shared memory, with the block's barrier in the place of its barrier of flags.
// kSync 0: __syncthreads; 1: flags as the library has them (acquire by one lane, handed on by a shuffle); 2: flags that every
// lane acquires itself, which the memory model orders without doubt. kOneWriter: one lane of a warp stores, not all 32.
template <int kSync, bool kOneWriter>
__global__ void by_hand(const float* in, float* out) {
  __shared__ float slot[kWarps];
  __shared__ unsigned arrived;
  if (threadIdx.x == 0) arrived = 0;
  __syncthreads();
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float mine = sum_of_warp(in[blockIdx.x * kThreads + threadIdx.x]);
  if (!kOneWriter || lane == 0) slot[warp] = mine;
  constexpr unsigned kAll = (1u << kWarps) - 1;
  const cuda::atomic_ref<unsigned, cuda::thread_scope_block> flags(arrived);
  bool is_last = false;
  if constexpr (kSync == 0) {
    __syncthreads();
    is_last = warp == 0;
  } else {
    __syncwarp();
    unsigned old = 0;
    if (lane == 0) old = flags.fetch_or(1u << warp, cuda::memory_order_acq_rel);
    old = __shfl_sync(0xffffffffu, old, 0);
    is_last = (old | 1u << warp) == kAll;
    if constexpr (kSync == 2) static_cast<void>(flags.load(cuda::memory_order_acquire));
  }
  if (is_last) {
    const float sum = sum_of_warp(lane < kWarps ? slot[lane] : 0);
    __syncwarp();
    if (lane < kWarps) slot[lane] = sum;
    __syncwarp();
    if constexpr (kSync != 0) {
      if (lane == 0) flags.fetch_and(~kAll, cuda::memory_order_release);
    }
  } else if constexpr (kSync != 0) {
    while (flags.load(cuda::memory_order_acquire) & (1u << warp)) {
    }
  }
  if constexpr (kSync == 0) __syncthreads();
  const float sum = slot[warp];
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

#include "kernels/reductions_device.cuh"

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::exit(1);
}

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "library";
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 4, times = argc > 3 ? std::atoi(argv[3]) : 1;
  float *in, *out;
  check(cudaMallocManaged(&in, sizeof(float) * blocks * kThreads));
  check(cudaMallocManaged(&out, sizeof(float) * blocks));
  for (int i = 0; i < blocks * kThreads; ++i) in[i] = i % 7;
  long wrong = 0;
  for (int time = 0; time < times; ++time) {
    for (int i = 0; i < blocks; ++i) out[i] = 0;
    const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("library"))
      library<<<blocks, kThreads>>>(in, out);
    else if (is("library_without_memory"))
      library_without_memory<<<blocks, kThreads>>>(in, out);
    else if (is("library_warp"))
      library_warp<<<blocks, kThreads>>>(in, out);
    else if (is("syncthreads"))
      by_hand<0, false><<<blocks, kThreads>>>(in, out);
    else if (is("flags"))
      by_hand<1, false><<<blocks, kThreads>>>(in, out);
    else if (is("flags_one_writer"))
      by_hand<1, true><<<blocks, kThreads>>>(in, out);
    else if (is("flags_acquired_by_all"))
      by_hand<2, true><<<blocks, kThreads>>>(in, out);
    else if (is("kernel")) {
      occbench::reduce_by_cooperative_groups<<<blocks, kThreads>>>(
          {reinterpret_cast<const float4*>(in), (long long)blocks * kThreads / 4, out, nullptr, nullptr});
    } else
      return 64;
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    float total = 0, exact = 0;
    for (int i = 0; i < blocks; ++i) total += out[i];
    for (int i = 0; i < blocks * kThreads; ++i) exact += in[i];
    wrong += total != exact;
  }
  std::printf("%s: %d blocks, %d launches, %ld wrong sums\n", name, blocks, times, wrong);
  return wrong != 0;
}
