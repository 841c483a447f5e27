#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cooperative_groups.h>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/grid_barrier.hpp"
#include "kernels/random_words.hpp"
#include "kernels/result_of_launch.hpp"
#include "occupancy/occupancy.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench {
namespace {

namespace groups = cooperative_groups;

struct GridBarrierArguments {
  const std::uint32_t* first;  ///< value of each member before the first round
  std::uint32_t* last;         ///< and after the last
  std::uint32_t* exchange;     ///< two for each block
  int rounds;
};

__host__ __device__ std::uint32_t next_value(std::uint32_t neighbours) {
  return 3 * neighbours + 1;
}

template <unsigned kThreads>
__global__ void tile_kernel(GridBarrierArguments arguments) {
  const auto tile = groups::tiled_partition<kThreads>(groups::this_thread_block());
  const unsigned member = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t value = arguments.first[member];
#pragma unroll 4
  for (int round = 0; round < arguments.rounds; ++round) {
    value = next_value(tile.shfl(value, (tile.thread_rank() + 1) % kThreads));
  }
  arguments.last[member] = value;
}

__global__ void block_kernel(GridBarrierArguments arguments) {
  constexpr int kMostThreads = 1024;
  __shared__ std::uint32_t exchange[2][kMostThreads];
  const unsigned member = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned neighbour = (threadIdx.x + 1) % blockDim.x;
  std::uint32_t value = arguments.first[member];
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    exchange[round % 2][threadIdx.x] = value;
    __syncthreads();
    value = next_value(exchange[round % 2][neighbour]);
  }
  arguments.last[member] = value;
}

__global__ void cluster_kernel(GridBarrierArguments arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ std::uint32_t exchange[2];
  const auto cluster = groups::this_cluster();
  std::uint32_t* const of_neighbour =
      cluster.map_shared_rank(exchange, (cluster.block_rank() + 1) % cluster.num_blocks());
  std::uint32_t value = arguments.first[blockIdx.x];
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    if (threadIdx.x == 0) exchange[round % 2] = value;
    cluster.sync();
    if (threadIdx.x == 0) value = next_value(of_neighbour[round % 2]);
  }
  if (threadIdx.x == 0) arguments.last[blockIdx.x] = value;
  cluster.sync();  // no block may exit while a neighbour reads its shared memory
#endif
}

template <bool kAlone>
__global__ void grid_kernel(GridBarrierArguments arguments) {
  const unsigned neighbour = kAlone ? blockIdx.x : (blockIdx.x + 1) % gridDim.x;
  std::uint32_t value = arguments.first[blockIdx.x];
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    std::uint32_t* const exchange = arguments.exchange + round % 2 * gridDim.x;
    if (threadIdx.x == 0) __stcg(exchange + blockIdx.x, value);
    if constexpr (!kAlone) groups::this_grid().sync();
    if (threadIdx.x == 0) value = next_value(__ldcg(exchange + neighbour));
  }
  if (threadIdx.x == 0) arguments.last[blockIdx.x] = value;
}

/// The members of a group.
enum class Members { threads_of_tile, threads_of_block, blocks_of_cluster, blocks_of_grid, one_block };

struct GridBarrierBuild {
  std::string_view name;
  void (*function)(GridBarrierArguments);
  Members members;
  int tile_threads = 0;
};

constexpr GridBarrierBuild kGridBarrierBuilds[] = {{"tile_4", tile_kernel<4>, Members::threads_of_tile, 4},
                                                   {"tile_8", tile_kernel<8>, Members::threads_of_tile, 8},
                                                   {"tile_16", tile_kernel<16>, Members::threads_of_tile, 16},
                                                   {"tile_32", tile_kernel<32>, Members::threads_of_tile, 32},
                                                   {"block", block_kernel, Members::threads_of_block},
                                                   {"cluster", cluster_kernel, Members::blocks_of_cluster},
                                                   {"grid", grid_kernel<false>, Members::blocks_of_grid},
                                                   {"alone", grid_kernel<true>, Members::one_block}};

const GridBarrierBuild& ring_build(std::string_view variant) {
  const auto* const found = std::ranges::find(kGridBarrierBuilds, variant, &GridBarrierBuild::name);
  if (found == std::end(kGridBarrierBuilds)) throw std::out_of_range("ring has no such variant");
  return *found;
}

const std::vector<Variant> kGridBarrierVariants = [] {
  std::vector<Variant> variants;
  for (const GridBarrierBuild& build : kGridBarrierBuilds)
    variants.push_back(make_variant(build.name, build.function));
  return variants;
}();

class PreparedGridBarrier final : public Prepared {
 public:
  PreparedGridBarrier(const Case& chosen, const Variant& variant, const Device& device)
      : build_(ring_build(variant.name)),
        function_(variant.function),
        launch_(chosen.launch),
        fitting_blocks_(full_wave_blocks(
            theoretical_occupancy(device.limits, launch_, inspect(variant).usage), device.sm_count)),
        rounds_(static_cast<int>(chosen.small ? std::min<std::int64_t>(chosen.extent, 8) : chosen.extent)),
        first_(random_words(static_cast<std::size_t>(members()))),
        device_first_(std::span<const std::uint32_t>(first_)),
        last_(first_.size()),
        exchange_(static_cast<std::size_t>(2 * launch_.grid_blocks)) {
    if (build_.members == Members::blocks_of_cluster && device.limits.max_cluster_blocks == 1) {
      throw CannotRun("clusters need compute capability 9.0 or later");
    }
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    const GridBarrierArguments arguments{device_first_.data(), last_.data(), exchange_.data(), rounds_};
    launch_kernel(is_grid() ? Start::together : Start::as_there_is_room, function_, launch_, stream,
                  arguments);
  }

  Check check(cudaStream_t stream) override {
    if (is_grid() && launch_.grid_blocks > fitting_blocks_) find_refused(stream);
    const std::vector<std::uint32_t> last = result_of_launch(*this, stream, last_);
    // Every round computes 3 x + 1 of the neighbour's value x: all rounds together are one multiplication and
    // addition.
    std::uint32_t factor = 1;
    std::uint32_t addend = 0;
    for (int round = 0; round < rounds_; ++round) {
      factor *= 3;
      addend = next_value(addend);
    }
    const auto size = static_cast<std::size_t>(group_size());
    for (std::size_t member = 0; member < last.size(); ++member) {
      const std::size_t group = member / size * size;
      const std::size_t from = group + (member - group + static_cast<std::size_t>(rounds_)) % size;
      if (last[member] != factor * first_[from] + addend) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {static_cast<double>(rounds_), "rounds"};
  }

 private:
  bool is_grid() const {
    return build_.members == Members::blocks_of_grid;
  }

  std::int64_t members() const {
    const bool threads =
        build_.members == Members::threads_of_tile || build_.members == Members::threads_of_block;
    return threads ? launch_.grid_blocks * launch_.block_threads : launch_.grid_blocks;
  }

  std::int64_t group_size() const {
    switch (build_.members) {
      case Members::threads_of_tile:
        return build_.tile_threads;
      case Members::threads_of_block:
        return launch_.block_threads;
      case Members::blocks_of_cluster:
        return launch_.cluster_blocks;
      case Members::blocks_of_grid:
        return launch_.grid_blocks;
      case Members::one_block:
        break;
    }
    return 1;
  }

  /// @throws CannotRun if the launch is refused, as expected; std::runtime_error if it is not.
  [[noreturn]] void find_refused(cudaStream_t stream) {
    const std::string grid = "a cooperative grid of " + std::to_string(launch_.grid_blocks) +
                             " blocks, of which the calculator says that " + std::to_string(fitting_blocks_) +
                             " fit at once, ";
    try {
      launch(stream);
    } catch (const CudaError& error) {
      if (error.code() != cudaErrorCooperativeLaunchTooLarge) throw;
      static_cast<void>(cudaGetLastError());
      throw CannotRun(grid + "is refused, as expected");
    }
    throw std::runtime_error(grid + "was started still");
  }

  const GridBarrierBuild& build_;
  const void* function_;
  Launch launch_;
  std::int64_t fitting_blocks_;
  int rounds_;
  std::vector<std::uint32_t> first_;
  DeviceBuffer<std::uint32_t> device_first_;
  DeviceBuffer<std::uint32_t> last_;
  DeviceBuffer<std::uint32_t> exchange_;
};

std::unique_ptr<Prepared> prepare_grid_barrier(const Case& chosen, const Variant& variant,
                                               const Device& device) {
  return std::make_unique<PreparedGridBarrier>(chosen, variant, device);
}

}  // namespace

Work grid_barrier_work(std::int64_t rounds) {
  const double cycles = kernel_cost("grid_barrier", "cycles_per_round");
  return Work::equal(static_cast<double>(rounds) * cycles);
}

const Kernel kGridBarrier{"grid_barrier", "groups that pass values on to their neighbours",
                          kGridBarrierVariants, prepare_grid_barrier};

}  // namespace occbench
