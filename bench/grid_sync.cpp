#include <algorithm>
#include <optional>
#include <string>

#include "gpu/first_gpc.hpp"
#include "harness/experiment.hpp"
#include "kernels/grid_barrier.hpp"
#include "kernels/spin.hpp"
#include "occupancy/runtime_answers.hpp"

namespace occbench::bench_grid_sync {
namespace {

constexpr std::int64_t kRounds = 64;
/// For variants with cheaper rounds.
constexpr std::int64_t kManyRounds = 2048;
constexpr double kSpinCycles = 200'000;
constexpr int kClusterSizes[] = {1, 2, 4, 8, 16};

std::string text(std::int64_t number) {
  return std::to_string(number);
}

/// Grids of exactly so many blocks per SM, with grid.sync() in each round and without.
void add_grids(std::vector<Case>& cases, const Planner& on, int block_threads) {
  const Launch launch{.block_threads = block_threads};
  const int most = on.occupancy(kGridBarrier, "grid", launch).blocks_per_sm;
  for (int blocks = 1; blocks <= most; blocks *= 2) {
    for (const std::string_view variant : {"grid", "alone"}) {
      const bool grid = variant == "grid";
      const auto wave = on.padded_wave(kGridBarrier, variant, launch, blocks);
      if (!wave) continue;
      const bool smoke = block_threads == 256 && blocks == 1;
      cases.push_back(
          {.kernel = &kGridBarrier,
           .variant = variant,
           .launch = *wave,
           .work = grid ? std::optional(grid_barrier_work(kRounds)) : std::nullopt,
           .extent = grid ? kRounds : kManyRounds,
           .suite = smoke                  ? Suite::smoke
                    : block_threads == 256 ? Suite::quick
                                           : Suite::full,
           .parameters = {{"block_threads", text(block_threads)}, {"blocks_per_sm", text(blocks)}},
           // Without the grid barrier, one warp of a block does all the work and outlasts the others.
           .expected_cause = on.cause_of_limit(kGridBarrier, variant, *wave, "shared_memory_limit",
                                               grid ? "barriers" : "uneven_warps")});
    }
  }
}

/// The most blocks that fit at once, and one more.
void add_limits(std::vector<Case>& cases, const Planner& on, int block_threads) {
  Launch launch{.block_threads = block_threads};
  const std::int64_t wave = on.wave(kGridBarrier, "grid", launch);
  for (const std::int64_t more : {0, 1}) {
    launch.grid_blocks = wave + more;
    cases.push_back({.kernel = &kGridBarrier,
                     .variant = "grid",
                     .launch = launch,
                     .work = grid_barrier_work(kRounds),
                     .extent = kRounds,
                     .suite = block_threads == 256 ? Suite::quick : Suite::full,
                     .parameters = {{"block_threads", text(block_threads)},
                                    {"grid", more == 0 ? "limit" : "limit_plus_one"}},
                     .expected_cause = "barriers"});
  }
}

void add_groups_of_a_block(std::vector<Case>& cases, const Planner& on, std::string_view variant,
                           int block_threads) {
  Launch launch{.block_threads = block_threads};
  launch.grid_blocks = on.wave(kGridBarrier, variant, launch);
  const bool smoke = block_threads == 256 && (variant == "tile_32" || variant == "block");
  cases.push_back({.kernel = &kGridBarrier,
                   .variant = variant,
                   .launch = launch,
                   .extent = kManyRounds,
                   .suite = smoke                  ? Suite::smoke
                            : block_threads == 256 ? Suite::quick
                                                   : Suite::full,
                   .parameters = {{"block_threads", text(block_threads)}}});
}

/// The calculator's number of clusters that fit at once; if none fits, one, which is refused.
std::int64_t clusters_at_once(const Planner& on, const Kernel& kernel, std::string_view variant,
                              const Launch& launch, const std::vector<int>& gpcs) {
  if (launch.cluster_blocks == 1) return on.wave(kernel, variant, launch);
  if (launch.cluster_blocks > on.limits().max_cluster_blocks) return 1;
  return std::max<std::int64_t>(
      1, max_active_clusters(on.occupancy(kernel, variant, launch), launch.cluster_blocks, gpcs));
}

void add_clusters(std::vector<Case>& cases, const Planner& on, const std::vector<int>& gpcs,
                  int block_threads, int cluster_blocks) {
  const auto make = [&](const Kernel& kernel, std::string_view variant, Suite suite) {
    Launch launch{.block_threads = block_threads, .cluster_blocks = cluster_blocks};
    launch.grid_blocks = cluster_blocks * clusters_at_once(on, kernel, variant, launch, gpcs);
    return Case{.kernel = &kernel,
                .variant = variant,
                .launch = launch,
                .suite = suite,
                .parameters = {{"block_threads", text(block_threads)}, {"cluster", text(cluster_blocks)}}};
  };
  const bool quick = block_threads == 1024 && cluster_blocks > 4;
  Case held = make(kSpin, "plain", quick ? Suite::quick : Suite::full);
  held.work = Work::equal(kSpinCycles);
  held.expected_cause = on.cause_of_grid(kSpin, "plain", held.launch) == "none" ? "none" : "clusters";
  cases.push_back(held);
  const bool smoke = block_threads == 256 && cluster_blocks == 2;
  Case ring = make(kGridBarrier, "cluster", smoke ? Suite::smoke : Suite::full);
  ring.extent = 8 * kRounds;
  if (cluster_blocks > 1) ring.work = grid_barrier_work(ring.extent);
  cases.push_back(ring);
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const int block_threads : {64, 256, 1024}) {
    add_grids(cases, on, block_threads);
    add_limits(cases, on, block_threads);
    add_groups_of_a_block(cases, on, "block", block_threads);
  }
  for (const std::string_view variant : {"tile_4", "tile_8", "tile_16", "tile_32"}) {
    add_groups_of_a_block(cases, on, variant, 256);
  }
  const std::vector<int> gpcs = sms_per_gpc(on.device());
  for (const int block_threads : {256, 1024}) {
    for (const int cluster : kClusterSizes) add_clusters(cases, on, gpcs, block_threads, cluster);
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "grid_sync",
    "a cooperative grid may have SMs x blocks per SM blocks and not one more; what grid.sync() costs grows "
    "with "
    "the blocks that wait",
    "CUDA C++ Programming Guide, cooperative groups: grid synchronization, thread block clusters", cases};

}  // namespace occbench::bench_grid_sync
