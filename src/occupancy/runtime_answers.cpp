#include "occupancy/runtime_answers.hpp"

#include <algorithm>

#include "occupancy/input_error.hpp"

namespace occbench {

BestBlockSize best_block_size(const Limits& limits, const Launch& launch, const Usage& usage) {
  const int most = limits.max_threads_per_block;
  BestBlockSize best;
  const int warp = limits.threads_per_warp;
  for (int warps = (most + warp - 1) / warp; warps * warp >= limits.min_threads_per_block && warps > 0;
       --warps) {
    Launch tried = launch;
    tried.block_threads = std::min(warps * warp, most);
    const int blocks = theoretical_occupancy(limits, tried, usage).blocks_per_sm;
    if (blocks * tried.block_threads > best.blocks_per_sm * best.block_threads) {
      best = {tried.block_threads, blocks};
    }
  }
  return best;
}

std::vector<int> block_sizes_as_good(const Limits& limits, Launch launch, const Usage& usage,
                                     const BestBlockSize& best) {
  std::vector<int> sizes;
  const int warp = limits.threads_per_warp;
  for (launch.block_threads = std::max(warp, limits.min_threads_per_block);
       launch.block_threads < best.block_threads; launch.block_threads += warp) {
    const int blocks = theoretical_occupancy(limits, launch, usage).blocks_per_sm;
    if (blocks * launch.block_threads == best.blocks_per_sm * best.block_threads)
      sizes.push_back(launch.block_threads);
  }
  return sizes;
}

std::optional<std::int64_t> available_dynamic_shared_bytes(const Limits& limits, const Launch& launch,
                                                           const Usage& usage, int blocks) {
  if (blocks < 1) throw InputError("blocks = {} is out of range: at least 1", blocks);
  Launch without = launch;
  without.dynamic_shared_bytes = 0;
  const Occupancy occupancy = theoretical_occupancy(limits, without, usage);
  if (occupancy.blocks_per_sm < blocks) return std::nullopt;
  const std::int64_t most = limits.max_shared_bytes_per_block - usage.static_shared_bytes;
  if (blocks == 1) return most;

  // With static memory or a reserve the size is above 0 already.
  Launch with_some = without;
  with_some.dynamic_shared_bytes = 1;
  const std::int64_t shared_out = std::max(
      occupancy.shared_bytes_per_sm, theoretical_occupancy(limits, with_some, usage).shared_bytes_per_sm);
  const std::int64_t share =
      shared_out / blocks / limits.shared_allocation_unit * limits.shared_allocation_unit;
  return std::min(share - limits.reserved_shared_bytes_per_block - usage.static_shared_bytes, most);
}

std::int64_t max_active_clusters(const Occupancy& occupancy, int cluster_blocks,
                                 std::span<const int> sms_per_gpc) {
  if (cluster_blocks < 1) {
    throw InputError("cluster_blocks = {} is out of range: at least 1", cluster_blocks);
  }
  const int blocks = std::min(occupancy.blocks_per_sm, kMaxClusterBlocksPerSm);
  std::int64_t clusters = 0;
  for (const int sms : sms_per_gpc) clusters += sms < cluster_blocks ? 0 : sms * blocks / cluster_blocks;
  return clusters;
}

std::int64_t full_wave_of_clusters(const Occupancy& occupancy, int cluster_blocks, int sm_count,
                                   std::span<const int> sms_per_gpc) {
  const bool by_gpcs = cluster_blocks > 1 && !sms_per_gpc.empty();
  return cluster_blocks * (by_gpcs ? max_active_clusters(occupancy, cluster_blocks, sms_per_gpc)
                                   : full_wave_blocks(occupancy, sm_count) / cluster_blocks);
}

int sms_without_clusters(int cluster_blocks, std::span<const int> sms_per_gpc) {
  int sms = 0;
  for (const int of_gpc : sms_per_gpc) sms += of_gpc < cluster_blocks ? of_gpc : 0;
  return sms;
}

}  // namespace occbench
