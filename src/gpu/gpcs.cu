#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "gpu/gpcs.hpp"
#include "gpu/launch.hpp"
#include "gpu/resources.hpp"
#include "gpu/warp_record.hpp"

namespace occbench {
namespace {

// Long enough that blocks which are placed together stay together: some 0.1 ms.
constexpr long long kCycles = 200'000;

__global__ void record_sm(unsigned* sm_of_block, long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) __nanosleep(1000);
  if (threadIdx.x == 0) sm_of_block[blockIdx.x] = current_sm();
}

/// Sets of SMs that are joined by what they share.
class JoinedSms {
 public:
  explicit JoinedSms(int sm_count) : parents_(static_cast<std::size_t>(sm_count)) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  void join(std::size_t one, std::size_t other) {
    parents_.at(root(one)) = root(other);
  }

  std::vector<int> sizes() const {
    std::map<std::size_t, int> members;
    for (std::size_t sm = 0; sm < parents_.size(); ++sm) ++members[root(sm)];
    std::vector<int> sizes;
    for (const auto& [of, count] : members) sizes.push_back(count);
    std::ranges::sort(sizes, std::greater());
    return sizes;
  }

 private:
  std::size_t root(std::size_t sm) const {
    while (parents_.at(sm) != sm) sm = parents_[sm];
    return sm;
  }

  std::vector<std::size_t> parents_;
};

/// One block per SM: each takes all the shared memory that a block may have.
Launch one_block_per_sm(const Device& device, int cluster_blocks) {
  Launch launch;
  launch.block_threads = device.limits.threads_per_warp;
  launch.cluster_blocks = cluster_blocks;
  launch.grid_blocks = device.sm_count / cluster_blocks * cluster_blocks;
  launch.dynamic_shared_bytes = device.limits.max_shared_bytes_per_block;
  return launch;
}

/// 0 where no cluster of the size finds room.
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
  JoinedSms joined(device.sm_count);
  for (int blocks = 2; blocks <= device.limits.max_cluster_blocks; ++blocks) {
    const Launch launch = one_block_per_sm(device, blocks);
    configure(function, launch);
    if (launch.grid_blocks == 0 || active_clusters(function, launch) == 0) continue;
    launch_kernel(function, launch, stream.get(), sm_of_block.data(), kCycles);
    stream.synchronize();
    const std::vector<unsigned> sms = sm_of_block.to_host();
    for (std::size_t block = 0; block < static_cast<std::size_t>(launch.grid_blocks); ++block) {
      joined.join(sms[block], sms[block - block % static_cast<std::size_t>(blocks)]);
    }
  }
  return joined.sizes();
}

}  // namespace occbench
