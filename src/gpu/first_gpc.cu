#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "gpu/first_gpc.hpp"
#include "gpu/kernel.hpp"
#include "gpu/warp_record.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

/// The largest blocks, so that few fill the device. Without shared memory, because SMs would be reconfigured
/// for its size before the next launch.
constexpr int kFirstGpcThreads = 1024;

/// A hundred times longer than all blocks take to begin: some 0.5 ms.
constexpr long long kPatienceCycles = 1'000'000;

/// Longer than one block per SM takes to begin.
constexpr long long kLookCycles = 10'000;

/// Devices have at most half as many GPCs, and SMs are numbered across GPCs in pairs.
constexpr int kMostSmsTried = 64;

struct LastBlock {
  unsigned sm;            ///< target SM
  unsigned resident;      ///< other blocks of the launch
  unsigned begun_before;  ///< blocks of earlier launches
  unsigned launch;        ///< number of this one, from 1
};

/// All warps of a block stay until the first one has seen its condition; else their exit would make room for
/// the last block.
__global__ void __launch_bounds__(kFirstGpcThreads)
    wait_for_last_block(LastBlock last, FirstGpcCounts* counts, volatile unsigned* missed) {
  if (threadIdx.x == 0) {
    const long long start = clock64();
    const bool is_last = atomicAdd(&counts->begun, 1U) - last.begun_before == last.resident;
    const bool is_there = current_sm() == last.sm;
    if (is_last && !is_there) *missed = *missed + 1;
    const bool makes_room = !is_last && is_there && atomicExch(&counts->left, last.launch) != last.launch;
    const unsigned until = makes_room ? last.resident : last.resident + 1;
    while (atomicAdd(&counts->begun, 0U) - last.begun_before < until && clock64() - start < kPatienceCycles) {
      __nanosleep(100);
    }
  }
  __syncthreads();
}

/// The place of SM 0 among the blocks of a grid that is fully resident.
__global__ void note_place_of_sm_0(unsigned* place) {
  const long long start = clock64();
  if (current_sm() == 0) atomicMin(place, blockIdx.x);
  while (clock64() - start < kLookCycles) __nanosleep(100);
}

unsigned resident_blocks(const Device& device) {
  const Launch launch{.block_threads = kFirstGpcThreads};
  const Variant kernel{"wait_for_last_block", reinterpret_cast<const void*>(&wait_for_last_block)};
  return static_cast<unsigned>(
      full_wave_blocks(theoretical_occupancy(device.limits, launch, inspect(kernel).usage), device.sm_count));
}

}  // namespace

/// Result of placing a launch's last block.
struct FirstGpc::Seen {
  unsigned missed = 0;
  unsigned place_of_sm_0 = std::numeric_limits<unsigned>::max();

  auto operator<=>(const Seen&) const = default;
};

FirstGpc::FirstGpc(const Device& device)
    : sm_count_(device.sm_count), resident_blocks_(resident_blocks(device)), counts_(1) {
  counts_.fill_bytes(0);
  std::vector<int> sms(static_cast<std::size_t>(std::min(sm_count_, kMostSmsTried)));
  std::iota(sms.begin(), sms.end(), 0);
  const std::vector<Seen> seen = set_and_look(sms);
  const auto earliest = std::ranges::min_element(seen);
  const int best = sms[static_cast<std::size_t>(earliest - seen.begin())];
  if (earliest->missed > 0 || earliest->place_of_sm_0 >= static_cast<unsigned>(sm_count_)) return;
  std::vector<int> each_then_best;
  for (const int sm : sms) each_then_best.insert(each_then_best.end(), {sm, best});
  const std::vector<Seen> again = set_and_look(each_then_best);
  for (std::size_t i = 1; i < again.size(); i += 2) {
    if (again[i] != *earliest) return;
  }
  last_block_to_ = best;
}

void FirstGpc::queue(cudaStream_t stream) {
  if (last_block_to_) place_last_block_on(*last_block_to_, stream);
}

void FirstGpc::place_last_block_on(int sm, cudaStream_t stream) {
  place_last_block_on(sm, missed_.get(), stream);
}

/// Places the last block on each of `sms` in turn and reads the place of SM 0 after each.
std::vector<FirstGpc::Seen> FirstGpc::set_and_look(std::span<const int> sms) {
  const Stream stream;
  DeviceBuffer<Seen> seen(std::vector<Seen>(sms.size()));
  for (std::size_t i = 0; i < sms.size(); ++i) {
    Seen* const of_this = seen.data() + i;
    place_last_block_on(sms[i], &of_this->missed, stream.get());
    note_place_of_sm_0<<<static_cast<unsigned>(sm_count_), 1, 0, stream.get()>>>(&of_this->place_of_sm_0);
    check(cudaGetLastError(), "launch of note_place_of_sm_0");
  }
  stream.synchronize();
  return seen.to_host();
}

void FirstGpc::place_last_block_on(int sm, volatile unsigned* missed, cudaStream_t stream) {
  const LastBlock last{.sm = static_cast<unsigned>(sm),
                       .resident = resident_blocks_,
                       .begun_before = launches_ * (resident_blocks_ + 1),
                       .launch = launches_ + 1};
  wait_for_last_block<<<resident_blocks_ + 1, kFirstGpcThreads, 0, stream>>>(last, counts_.data(), missed);
  check(cudaGetLastError(), "launch of wait_for_last_block");
  ++launches_;
}

namespace {

// Long enough that blocks placed together run together: some 0.1 ms.
constexpr long long kCycles = 200'000;

__global__ void record_sm(unsigned* sm_of_block, long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) __nanosleep(1000);
  if (threadIdx.x == 0) sm_of_block[blockIdx.x] = current_sm();
}

/// One block per SM: each takes the maximum shared memory of a block.
Launch one_block_per_sm(const Device& device, int cluster_blocks) {
  Launch launch;
  launch.block_threads = device.limits.threads_per_warp;
  launch.cluster_blocks = cluster_blocks;
  launch.grid_blocks = device.sm_count / cluster_blocks * cluster_blocks;
  launch.dynamic_shared_bytes = device.limits.max_shared_bytes_per_block;
  return launch;
}

/// 0 if no cluster of the size fits.
int active_clusters(const void* function, const Launch& launch) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(launch.cluster_blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid_blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.block_threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_shared_bytes);
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  const cudaError_t code = cudaOccupancyMaxActiveClusters(&clusters, function, &config);
  if (code == cudaErrorInvalidClusterSize) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  check(code, "cudaOccupancyMaxActiveClusters");
  return clusters;
}

}  // namespace

std::vector<int> sms_per_gpc(const Device& device) {
  if (device.limits.max_cluster_blocks == 1) return {};
  const auto* function = reinterpret_cast<const void*>(&record_sm);
  const Stream stream;
  DeviceBuffer<unsigned> sm_of_block(static_cast<std::size_t>(device.sm_count));
  std::vector<int> gpcs(static_cast<std::size_t>(device.sm_count));  // by SM: each alone at first
  std::iota(gpcs.begin(), gpcs.end(), 0);
  for (int blocks = 2; blocks <= device.limits.max_cluster_blocks; ++blocks) {
    const Launch launch = one_block_per_sm(device, blocks);
    configure(function, launch);
    if (launch.grid_blocks == 0 || active_clusters(function, launch) == 0) continue;
    launch_kernel(function, launch, stream.get(), sm_of_block.data(), kCycles);
    stream.synchronize();
    const std::vector<unsigned> sms = sm_of_block.to_host();
    for (std::size_t block = 0; block < static_cast<std::size_t>(launch.grid_blocks); ++block) {
      const int old = gpcs.at(sms[block]);
      const int now = gpcs.at(sms[block - block % static_cast<std::size_t>(blocks)]);
      std::ranges::replace(gpcs, old, now);
    }
  }
  std::vector<int> sizes(gpcs.size());
  for (const int gpc : gpcs) ++sizes[static_cast<std::size_t>(gpc)];
  std::erase(sizes, 0);
  std::ranges::sort(sizes, std::greater());
  return sizes;
}

}  // namespace occbench
