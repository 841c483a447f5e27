#pragma once

// The kernels of kernels/reductions.hpp.

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>

#include "kernels/reductions.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

struct ReductionArguments {
  const float4* values;
  std::int64_t quads;  ///< groups of four values
  float* total;
  float* partials;    ///< one per block, for `last_block`
  unsigned* arrived;  ///< blocks that have stored their partial; 0 before and after a launch
};

constexpr int kReductionWarps = kReductionThreads / kThreadsPerWarp;
constexpr unsigned kAllLanes = 0xffffffffU;

__device__ void add_to_total(float* total, float value) {
  cuda::atomic_ref<float, cuda::thread_scope_device>(*total).fetch_add(value, cuda::memory_order_relaxed);
}

__device__ float sum_of_thread(const ReductionArguments& arguments) {
  float4 sum{};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 4
  for (std::int64_t quad = first; quad < arguments.quads; quad += step) {
    const float4 next = arguments.values[quad];
    sum.x += next.x;
    sum.y += next.y;
    sum.z += next.z;
    sum.w += next.w;
  }
  return (sum.x + sum.y) + (sum.z + sum.w);
}

/// Valid in the first of `kLanes` lanes.
template <int kLanes>
__device__ float sum_of_lanes(float sum) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(kAllLanes, sum, distance);
  }
  return sum;
}

/// Valid in thread 0.
__device__ float sum_of_block(float sum) {
  __shared__ float sums[kReductionWarps];
  sum = sum_of_lanes<kThreadsPerWarp>(sum);
  if (threadIdx.x % kThreadsPerWarp == 0) sums[threadIdx.x / kThreadsPerWarp] = sum;
  __syncthreads();
  if (threadIdx.x >= kThreadsPerWarp) return 0;
  return sum_of_lanes<kReductionWarps>(threadIdx.x < kReductionWarps ? sums[threadIdx.x] : 0);
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_thread(ReductionArguments arguments) {
  add_to_total(arguments.total, sum_of_thread(arguments));
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_warp(ReductionArguments arguments) {
  const float sum = sum_of_lanes<kThreadsPerWarp>(sum_of_thread(arguments));
  if (threadIdx.x % kThreadsPerWarp == 0) add_to_total(arguments.total, sum);
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_thread_0(ReductionArguments arguments) {
  __shared__ float sums[kReductionThreads];
  sums[threadIdx.x] = sum_of_thread(arguments);
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (const float each : sums) sum += each;
  add_to_total(arguments.total, sum);
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_shuffles(ReductionArguments arguments) {
  const float sum = sum_of_block(sum_of_thread(arguments));
  if (threadIdx.x == 0) add_to_total(arguments.total, sum);
}

__global__ void __launch_bounds__(kReductionThreads)
    reduce_by_cooperative_groups(ReductionArguments arguments) {
  namespace groups = cooperative_groups;
  __shared__ groups::block_tile_memory<kReductionThreads> memory;
  const auto block = groups::this_thread_block(memory);
  const auto tile = groups::tiled_partition<kReductionThreads>(block);
  const float sum = groups::reduce(tile, sum_of_thread(arguments), groups::plus<float>());
  if (threadIdx.x == 0) add_to_total(arguments.total, sum);
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_cub_block(ReductionArguments arguments) {
  using Reduce = cub::BlockReduce<float, kReductionThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(sum_of_thread(arguments));
  if (threadIdx.x == 0) add_to_total(arguments.total, sum);
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_cluster(ReductionArguments arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ float of_block;
  const auto cluster = cooperative_groups::this_cluster();
  const float sum = sum_of_block(sum_of_thread(arguments));
  if (threadIdx.x == 0) of_block = sum;
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < kThreadsPerWarp) {
    const unsigned rank = threadIdx.x;
    const float each = rank < cluster.num_blocks() ? *cluster.map_shared_rank(&of_block, rank) : 0;
    const float of_cluster = sum_of_lanes<kThreadsPerWarp>(each);
    if (rank == 0) add_to_total(arguments.total, of_cluster);
  }
  cluster.sync();  // no block may exit while another one reads its shared memory
#endif
}

__global__ void __launch_bounds__(kReductionThreads) reduce_by_last_block(ReductionArguments arguments) {
  __shared__ bool is_last;
  const float sum = sum_of_block(sum_of_thread(arguments));
  if (threadIdx.x == 0) {
    arguments.partials[blockIdx.x] = sum;
    const cuda::atomic_ref<unsigned, cuda::thread_scope_device> arrived(*arguments.arrived);
    is_last = arrived.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  float partial = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
    partial += __ldcg(arguments.partials + block);
  }
  const float total = sum_of_block(partial);
  if (threadIdx.x != 0) return;
  *arguments.total = total;
  *arguments.arrived = 0;
}

/// Fills `values` with repetitions of a table.
__global__ void repeat_table(const float* table, std::int64_t length, float* values, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    values[i] = table[i % length];
  }
}

}  // namespace
}  // namespace occbench
