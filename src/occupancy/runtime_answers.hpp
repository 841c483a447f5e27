#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "occupancy/occupancy.hpp"

namespace occbench {

// Answers of the CUDA runtime beside theoretical occupancy, without a device. The grid limit of a cooperative launch is
// full_wave_blocks (occupancy.hpp).

/// The block size with most resident threads, as cudaOccupancyMaxPotentialBlockSize finds it.
struct BestBlockSize {
  int block_threads = 0;  ///< 0 if no block size can launch
  int blocks_per_sm = 0;
};

/// Tries whole warps from the largest block (which itself may end in a partial one) down to the smallest. If resident
/// threads are equal, the largest block wins. `launch.block_threads` is ignored.
/// @param limits  with a kernel's own largest block if its launch bounds give one
/// @throws InputError as theoretical_occupancy.
BestBlockSize best_block_size(const Limits& limits, const Launch& launch, const Usage& usage);

/// Smaller block sizes than `best`, of whole warps, with as many resident threads per SM, ascending.
std::vector<int> block_sizes_as_good(const Limits& limits, Launch launch, const Usage& usage,
                                     const BestBlockSize& best);

/// The most dynamic shared memory per block with which `blocks` blocks fit an SM, bytes; empty if so many do not fit
/// even without any. `launch.dynamic_shared_bytes` is ignored. With a carveout of 0 the smallest size above 0 is shared
/// out, as the driver configures it for any block that uses shared memory. A single block may have all that a block
/// can.
///
/// From compute capability 8.0 on, cudaOccupancyAvailableDynamicSMemPerBlock returns too much for two blocks or more.
/// It does not subtract the driver's reserve of each block (1 KB), so with its answer
/// cudaOccupancyMaxActiveBlocksPerMultiprocessor counts fewer blocks than were asked for. Seen in all 30,930 answers
/// for two blocks or more of an H200 (driver 580.159.04, CUDA 13.0); cuda_occupancy.h shares it.
/// @throws InputError as theoretical_occupancy, and for blocks below 1.
std::optional<std::int64_t> available_dynamic_shared_bytes(const Limits& limits, const Launch& launch,
                                                           const Usage& usage, int blocks);

/// Clusters that are resident at once, as cudaOccupancyMaxActiveClusters for the default scheduling policy. A cluster's
/// blocks share one GPC. A GPC takes part if it has an SM for each of them, though several may then share an SM. (The
/// policy cudaClusterSchedulingPolicyLoadBalancing, which is not covered here, drops that condition.) The rule was read
/// from, and gives, 68,412 answers of an H200 (driver 580.159.04, CUDA 13.0) over kernels, block sizes, shared memory,
/// carveouts and cluster sizes; the grid and the cluster's shape do not matter. In 52 launches exactly so many clusters
/// were resident at once. Clusters of one block count kMaxClusterBlocksPerSm too.
/// @param sms_per_gpc  SMs of each GPC, single TPCs outside of the GPCs included (gpu/first_gpc.hpp)
/// @throws InputError for cluster_blocks below 1.
std::int64_t max_active_clusters(const Occupancy& occupancy, int cluster_blocks,
                                 std::span<const int> sms_per_gpc);

/// full_wave_blocks() of a launch in clusters: the blocks of clusters that are active at once. Without clusters, or if
/// the GPCs are not known, it is the most whole clusters that all SMs have room for: no more can be resident.
/// @param sms_per_gpc  as above; empty = not known
std::int64_t full_wave_of_clusters(const Occupancy& occupancy, int cluster_blocks, int sm_count,
                                   std::span<const int> sms_per_gpc);

/// SMs of GPCs that are too small for such a cluster, which needs as many SMs of one GPC as it has blocks. 0 if GPCs
/// are not known.
int sms_without_clusters(int cluster_blocks, std::span<const int> sms_per_gpc);

}  // namespace occbench
