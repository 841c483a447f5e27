#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <stdexcept>
#include <vector>

#include <cuda/atomic>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/atomics.hpp"
#include "kernels/random_words.hpp"
#include "kernels/result_of_launch.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

constexpr int kThreads = kAtomicsBlockThreads;

struct AtomicsArguments {
  const std::uint32_t* values;  ///< one per thread
  std::uint32_t* totals;
  unsigned addresses;
};

__device__ void add_atomically(std::uint32_t& total, std::uint32_t value) {
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(total).fetch_add(value,
                                                                              cuda::memory_order_relaxed);
}

__device__ unsigned thread_number() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void thread_kernel(AtomicsArguments arguments) {
  add_atomically(arguments.totals[thread_number() % arguments.addresses], arguments.values[thread_number()]);
}

__global__ void warp_kernel(AtomicsArguments arguments) {
  std::uint32_t sum = arguments.values[thread_number()];
#pragma unroll
  for (int distance = kThreadsPerWarp / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffffU, sum, distance);
  }
  if (threadIdx.x % kThreadsPerWarp != 0) return;
  add_atomically(arguments.totals[thread_number() / kThreadsPerWarp % arguments.addresses], sum);
}

__global__ void __launch_bounds__(kThreads) serial_kernel(AtomicsArguments arguments) {
  __shared__ std::uint32_t values[kThreads];
  values[threadIdx.x] = arguments.values[thread_number()];
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t sum = 0;
  for (const std::uint32_t value : values) sum += value;
  add_atomically(arguments.totals[blockIdx.x % arguments.addresses], sum);
}

__global__ void __launch_bounds__(kThreads) block_kernel(AtomicsArguments arguments) {
  using Reduce = cub::BlockReduce<std::uint32_t, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const std::uint32_t sum = Reduce(storage).Sum(arguments.values[thread_number()]);
  if (threadIdx.x == 0) add_atomically(arguments.totals[blockIdx.x % arguments.addresses], sum);
}

/// A variant, and the number of threads that share an atomic.
struct AtomicsBuild {
  std::string_view name;
  void (*function)(AtomicsArguments);
  unsigned threads_per_atomic;
};

constexpr AtomicsBuild kAtomicsBuilds[] = {{"thread", thread_kernel, 1},
                                           {"warp", warp_kernel, kThreadsPerWarp},
                                           {"serial", serial_kernel, kThreads},
                                           {"block", block_kernel, kThreads}};

const AtomicsBuild& atomics_build(std::string_view variant) {
  for (const AtomicsBuild& build : kAtomicsBuilds) {
    if (build.name == variant) return build;
  }
  throw std::out_of_range("atomics has no such variant");
}

const std::vector<Variant> kAtomicsVariants = [] {
  std::vector<Variant> variants;
  for (const AtomicsBuild& build : kAtomicsBuilds)
    variants.push_back(make_variant(build.name, build.function));
  return variants;
}();

class PreparedAtomics final : public Prepared {
 public:
  PreparedAtomics(const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        threads_per_atomic_(atomics_build(variant.name).threads_per_atomic),
        values_(random_words(static_cast<std::size_t>(launch_.grid_blocks * kThreads))),
        device_values_(std::span<const std::uint32_t>(values_)),
        totals_(static_cast<std::size_t>(chosen.extent)) {
    totals_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    const AtomicsArguments arguments{device_values_.data(), totals_.data(),
                                     static_cast<unsigned>(totals_.size())};
    launch_kernel(function_, launch_, stream, arguments);
  }

  /// Adds to the present contents.
  Check check(cudaStream_t stream) override {
    const std::vector<std::uint32_t> totals = result_of_launch(*this, stream, totals_, 0x5a);
    std::vector<std::uint32_t> reference(totals_.size(), 0x5a5a5a5aU);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      reference[i / threads_per_atomic_ % reference.size()] += values_[i];
    }
    return totals == reference ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {static_cast<double>(values_.size()), "values"};
  }

 private:
  const void* function_;
  Launch launch_;
  unsigned threads_per_atomic_;
  std::vector<std::uint32_t> values_;
  DeviceBuffer<std::uint32_t> device_values_;
  DeviceBuffer<std::uint32_t> totals_;
};

std::unique_ptr<Prepared> prepare_atomics(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedAtomics>(chosen, variant);
}

}  // namespace

const Kernel kAtomics{"atomics", "the sum of an array by atomics of threads, warps or blocks",
                      kAtomicsVariants, prepare_atomics};

}  // namespace occbench
