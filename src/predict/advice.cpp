#include "predict/advice.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

constexpr double kLeastTimeSavedPct = 1;
constexpr std::int64_t kMostBlocks = 1 << 16;
/// Runs of each candidate, of which the middle one counts. Work that contends hardly depends on chance.
constexpr std::uint64_t kTries = 3;
constexpr std::uint64_t kTriesWhereWarpsContend = 1;

struct Candidate {
  Launch launch;
  Work work;

  Tasks tasks() const {
    return Tasks(work, launch.grid_blocks, warps_of_block(launch.block_threads));
  }
};

/// The same work by `grid_blocks` blocks.
Candidate with_grid(const Launch& launch, const Work& work, std::int64_t grid_blocks) {
  Candidate candidate{launch, work};
  const double ratio = static_cast<double>(launch.grid_blocks) / static_cast<double>(grid_blocks);
  candidate.launch.grid_blocks = grid_blocks;
  candidate.work = work.scaled(ratio);
  return candidate;
}

/// The same threads in blocks of `block_threads`.
Candidate with_block_size(const Launch& launch, const Work& work, int block_threads) {
  Candidate candidate{launch, work};
  candidate.launch.block_threads = block_threads;
  candidate.launch.grid_blocks =
      (launch.grid_blocks * launch.block_threads + block_threads - 1) / block_threads;
  candidate.launch.dynamic_shared_bytes = launch.dynamic_shared_bytes * block_threads / launch.block_threads;
  return candidate;
}

std::vector<Candidate> candidates(const Launch& launch, const Usage& usage, const Limits& limits,
                                  int sm_count, const Work& work) {
  std::vector<Candidate> all;
  const std::int64_t wave = full_wave_blocks(theoretical_occupancy(limits, launch, usage), sm_count);
  const std::int64_t below = launch.grid_blocks / wave * wave;
  for (const std::int64_t grid : {below, below + wave}) {
    if (grid > 0 && grid != launch.grid_blocks) all.push_back(with_grid(launch, work, grid));
  }
  // Shared memory that the kernel itself declares does not change with the block.
  if (usage.static_shared_bytes > 0 || launch.cluster_blocks > 1) return all;
  const int warp = limits.threads_per_warp;
  const int least = std::max(warp, launch.block_threads / 2 / warp * warp);
  const int most = std::min(limits.max_threads_per_block, launch.block_threads * 2);
  for (int threads = least; threads <= most; threads += warp) {
    if (threads == launch.block_threads) continue;
    Candidate candidate = with_block_size(launch, work, threads);
    if (theoretical_occupancy(limits, candidate.launch, usage).blocks_per_sm > 0) {
      all.push_back(candidate);
    }
  }
  return all;
}

}  // namespace

std::optional<Advice> advise(const Launch& launch, const Usage& usage, const Limits& limits,
                             const DeviceProfile& profile, const Work& work, const Prediction& prediction,
                             const Chance& chance) {
  if (launch.grid_blocks > kMostBlocks) return std::nullopt;
  const Seeds seeds(chance, profile);
  const auto run = [&](const Candidate& candidate) {
    const Tasks tasks = candidate.tasks();
    std::vector<Simulation> runs;
    const std::uint64_t tries = tasks.contends() ? kTriesWhereWarpsContend : kTries;
    for (std::uint64_t i = 0; i < tries; ++i) {
      runs.push_back(simulate(candidate.launch, usage, limits, profile.model, tasks, seeds.of_run(i)));
    }
    std::ranges::sort(runs, {}, &Simulation::cycles_active_max);
    return runs[tries / 2];
  };

  const Simulation asked = run({launch, work});
  std::optional<Candidate> best;
  double best_saved_pct = kLeastTimeSavedPct;
  for (const Candidate& candidate : candidates(launch, usage, limits, profile.sm_count(), work)) {
    const double saved_pct = 100 * (1 - run(candidate).cycles_active_max / asked.cycles_active_max);
    if (saved_pct < best_saved_pct) continue;
    best = candidate;
    best_saved_pct = saved_pct;
  }
  if (!best) return std::nullopt;
  const double predicted_pct =
      predict(best->launch, usage, limits, profile, best->tasks(), chance).predicted_pct;
  const double gain_points = predicted_pct - prediction.predicted_pct;
  return Advice{best->launch,
                best->work,
                predicted_pct,
                gain_points,
                best_saved_pct,
                fmt::format("{} blocks of {} threads would read {:.1f} % ({:+.1f} points) and take {:.0f} % "
                            "less time for the same work.",
                            with_thousands(best->launch.grid_blocks), best->launch.block_threads,
                            predicted_pct, gain_points, best_saved_pct)};
}

}  // namespace occbench
