#include "predict/advice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "occupancy/occupancy.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/text.hpp"
#include "occupancy/theory_advice.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

/// Limit for one simulation of a candidate, by simulation_microseconds(): a choice.
constexpr double kMostTriedMicroseconds = 50'000;
/// Most waves of equal blocks are skipped; all waves of uneven ones are simulated, for each candidate.
constexpr std::int64_t kMostUnevenBlocks = 1 << 16;
/// Runs of each candidate; the median counts. Work that contends hardly depends on chance.
constexpr std::uint64_t kTries = 3;
constexpr std::uint64_t kTriesWhereWarpsContend = 1;

/// A launch and its work.
struct LaunchOfWork {
  Launch launch;
  Work work;
};

Tasks tasks_of(const LaunchOfWork& candidate) {
  return {candidate.work, candidate.launch.grid_blocks, warps_of_block(candidate.launch.block_threads)};
}

std::int64_t units_of(const Work& work, const Launch& launch) {
  return work.unit_count(launch.grid_blocks, warps_of_block(launch.block_threads));
}

double cycles_of_threads(const Work& work, const Launch& launch) {
  return total_cycles(work, launch) * used_lanes(launch.block_threads);
}

/// The candidate with the distribution and the total of `work` on `launch`: `last` units scale in proportion,
/// then cycles make up the rest. A warp takes as long with idle lanes as without.
LaunchOfWork with_same_total(LaunchOfWork candidate, const Launch& launch, const Work& work) {
  const double ratio =
      static_cast<double>(units_of(work, candidate.launch)) / static_cast<double>(units_of(work, launch));
  if (candidate.work.distribution.form == WorkForm::last) {
    double& count = candidate.work.distribution.values[0];
    count = std::max(1.0, std::round(ratio * count));
  }
  // Twice, because cycles of a unit are whole numbers.
  for (int time = 0; time < 2; ++time) {
    candidate.work = candidate.work.scaled(cycles_of_threads(work, launch) /
                                           cycles_of_threads(candidate.work, candidate.launch));
  }
  return candidate;
}

/// The same work in `grid_blocks` blocks.
LaunchOfWork with_grid(const Launch& launch, const Work& work, std::int64_t grid_blocks) {
  LaunchOfWork candidate{launch, work};
  candidate.launch.grid_blocks = grid_blocks;
  return with_same_total(std::move(candidate), launch, work);
}

/// The same threads in blocks of `block_threads`, with unchanged dynamic shared memory: a warp takes as long
/// with idle lanes as without.
LaunchOfWork with_block_size(const Launch& launch, const Work& work, int block_threads) {
  LaunchOfWork candidate{launch, work};
  candidate.launch.block_threads = block_threads;
  candidate.launch.grid_blocks =
      (launch.grid_blocks * launch.block_threads + block_threads - 1) / block_threads;
  return with_same_total(std::move(candidate), launch, work);
}

/// A grid for fewer blocks than SMs: a wave, or the most blocks that are each twice as long as the
/// uncertainty of overheads, equally many on each SM if possible.
std::int64_t spread_over_sms(const LaunchOfWork& of, const Topology& topology, std::int64_t wave) {
  const auto& [launch, work] = of;
  const double block_cycles = total_cycles(work, launch) / warps_of_block(launch.block_threads);
  const auto fit = static_cast<std::int64_t>(block_cycles / (2 * kOverheadErrorCycles));
  const std::int64_t clusters = fit < topology.sm_count() ? 1 : topology.sm_count() / launch.cluster_blocks;
  const std::int64_t together = clusters * launch.cluster_blocks;
  return std::min(wave, fit / together * together);
}

/// The same work in the next smaller and next larger number of whole waves; a grid of fewer blocks than SMs
/// gets spread_over_sms() instead of the larger one. Empty if a wave takes less than kLeastShare of the time;
/// without grids whose warps take less than kOverheadErrorCycles.
std::vector<LaunchOfWork> whole_waves(const LaunchOfWork& of, const Usage& usage, const Limits& limits,
                                      const Topology& topology) {
  const auto& [launch, work] = of;
  const std::int64_t wave =
      full_wave_of_clusters(theoretical_occupancy(limits, launch, usage), launch.cluster_blocks,
                            topology.sm_count(), topology.sms_per_gpc());
  std::vector<LaunchOfWork> all;
  // With so many waves, the last takes less than the least share that is reported.
  if (kLeastShare * static_cast<double>(launch.grid_blocks) > static_cast<double>(wave)) return all;
  const std::int64_t below = launch.grid_blocks / wave * wave;
  const std::int64_t above = launch.grid_blocks < std::min<std::int64_t>(wave, topology.sm_count())
                                 ? spread_over_sms(of, topology, wave)
                                 : below + wave;
  for (const std::int64_t grid : {below, above}) {
    if (grid <= 0 || grid > kMostGridShape.x || grid == launch.grid_blocks) continue;
    LaunchOfWork whole = with_grid(launch, work, grid);
    const double warps = static_cast<double>(grid) * warps_of_block(launch.block_threads);
    // For shorter warps overheads decide.
    if (total_cycles(whole.work, whole.launch) > kOverheadErrorCycles * warps)
      all.push_back(std::move(whole));
  }
  return all;
}

/// The same work, split equally over all warps of the launch.
LaunchOfWork with_even_warps(const Launch& launch, const Work& work) {
  LaunchOfWork candidate{launch, work};
  candidate.work.distribution = {};
  return with_same_total(std::move(candidate), launch, work);
}

bool loses_most_to_uneven_warps(const Losses& losses) {
  return losses.within_block > 0 &&
         losses.within_block >= std::max({losses.small_grid, losses.tail, losses.between_blocks,
                                          losses.overhead, losses.contention});
}

std::vector<LaunchOfWork> candidates(const Asked& asked, const Work& work) {
  const Launch& launch = asked.launch;
  const Usage& usage = asked.usage;
  const Limits& limits = asked.limits;
  const Topology& topology = asked.chosen.profile.model.topology;
  std::vector<LaunchOfWork> all;
  if (work.seed()) return all;
  all = whole_waves({launch, work}, usage, limits, topology);
  // Whole waves of uneven or contending blocks would take long to simulate.
  const bool has_whole_waves = work.distribution.form == WorkForm::equal && work.rates() == Rates{};
  const auto add = [&](const LaunchOfWork& candidate) {
    all.push_back(candidate);
    if (!has_whole_waves) return;
    for (const LaunchOfWork& whole : whole_waves(candidate, usage, limits, topology)) all.push_back(whole);
  };
  for (int cluster_blocks = launch.cluster_blocks - 1; cluster_blocks >= 1; --cluster_blocks) {
    if (launch.grid_blocks % cluster_blocks != 0) continue;
    LaunchOfWork candidate{launch, work};
    candidate.launch.cluster_blocks = cluster_blocks;
    add(candidate);
  }
  if (launch.cluster_blocks > 1) return all;
  const int warp = limits.threads_per_warp;
  const int least = std::max(warp, launch.block_threads / 2 / warp * warp);
  const int most = std::min(limits.max_threads_per_block, launch.block_threads * 2);
  for (int threads = least; threads <= most; threads += warp) {
    if (threads == launch.block_threads) continue;
    const LaunchOfWork candidate = with_block_size(launch, work, threads);
    const bool is_grid = candidate.launch.grid_blocks <= kMostGridShape.x;
    if (!is_grid || theoretical_occupancy(limits, candidate.launch, usage).blocks_per_sm == 0) continue;
    add(candidate);
  }
  return all;
}

std::string name_of(const Launch& candidate, const Launch& launch, const Usage& usage) {
  std::string name =
      fmt::format("{} of {} threads", blocks_text(candidate.grid_blocks), candidate.block_threads);
  const std::int64_t shared_bytes = launch.dynamic_shared_bytes + usage.static_shared_bytes;
  if (candidate.block_threads != launch.block_threads && shared_bytes > 0)
    name += fmt::format(" and {} B of shared memory", shared_bytes);
  if (candidate.cluster_blocks == launch.cluster_blocks) return name;
  return name + (candidate.cluster_blocks == 1 ? " without clusters"
                                               : fmt::format(" in clusters of {}", candidate.cluster_blocks));
}

/// " (range: 27 to 36 %)" for a generic profile; others state their uncertainty by their intervals.
std::string range_text(const Interval& saved, ProfileQuality quality) {
  if (quality != ProfileQuality::generic) return "";
  const double low = std::floor(saved.low);
  return saved.high > 99 ? fmt::format(" (range: {} % or more)", low)
                         : fmt::format(" (range: {} to {} %)", low, std::ceil(saved.high));
}

/// The advice to use another launch; empty if by the ranges of both it may take as long.
std::optional<Advice> advice_of(const LaunchOfWork& better, const Asked& asked,
                                const Prediction& prediction) {
  const Tasks tasks = tasks_of(better);
  Asked other = asked;
  other.launch = better.launch;
  const Simulations simulations = simulate_often(other, tasks);
  const Interval achieved = intervals_of(other, tasks, simulations).achieved;
  const double saved_pct = 100 * (1 - simulations.cycles_active_max / prediction.cycles_active_max);
  const Interval& now = prediction.cycles_range;
  const Interval then = range_of_cycles(other, tasks, simulations);
  const Interval saved{100 * (1 - then.high / now.low), 100 * (1 - then.low / now.high)};
  if (saved_pct < 100 * kLeastShare || saved.low <= 0) return std::nullopt;
  const bool of_warps = better.launch == asked.launch;
  const std::string what = of_warps ? "The same work with equal shares for all warps"
                                    : name_of(better.launch, asked.launch, asked.usage);
  const bool splits_warps =
      better.launch.block_threads != asked.launch.block_threads && prediction.losses.within_block > 0;
  const std::string_view of_work = of_warps       ? ""
                                   : splits_warps ? " for the same work with as many slow warps"
                                                  : " for the same work";
  std::vector<std::string> conditions;
  if (!of_warps && !splits_warps && asked.origin == WorkOrigin::inferred)
    conditions.emplace_back("if its blocks take equally long");
  if (better.launch.block_threads != asked.launch.block_threads) {
    const auto threads = [](const Launch& launch) {
      return static_cast<double>(launch.grid_blocks) * launch.block_threads;
    };
    const double times = threads(asked.launch) / threads(better.launch);
    if (std::abs(times - 1) > kLeastShare)
      conditions.push_back(fmt::format("of which a thread does {:.3g} times as much", times));
    if (!tasks.contends()) conditions.emplace_back("if warps wait for latency");
  }
  return Advice{
      better.launch,
      better.work,
      simulations.achieved.middle,
      achieved,
      simulations.achieved.middle - prediction.predicted_pct,
      saved_pct,
      saved,
      fmt::format("{} would take {} less time{}{}{}{}{} and read {} % instead of {} %.", what,
                  saved_text(saved_pct), range_text(saved, asked.chosen.quality), of_work,
                  conditions.empty() ? "" : ", ", fmt::join(conditions, ", "), conditions.empty() ? "" : ",",
                  to_string(achieved), to_string(prediction.interval))};
}

bool has_too_many_uneven_blocks(const Launch& launch, const Work& work) {
  return work.distribution.form != WorkForm::equal && launch.grid_blocks > kMostUnevenBlocks;
}

}  // namespace

std::string why_not_advised(const Launch& launch, const Work& work) {
  if (has_too_many_uneven_blocks(launch, work))
    return fmt::format("no advice: it simulates no more than {} uneven blocks", grouped(kMostUnevenBlocks));
  return work.seed() ? "no other grid is advised, for it would be another draw" : "";
}

std::optional<Advice> advise(const Asked& asked, const Work& work, const Prediction& prediction) {
  const Launch& launch = asked.launch;
  const DeviceProfile& profile = asked.chosen.profile;
  if (has_too_many_uneven_blocks(launch, work)) return std::nullopt;
  const Seeds seeds(asked.chance, profile);
  const auto run = [&](const LaunchOfWork& candidate) {
    const Tasks tasks = tasks_of(candidate);
    std::vector<Simulation> runs;
    const std::uint64_t tries = tasks.contends() ? kTriesWhereWarpsContend : kTries;
    for (std::uint64_t i = 0; i < tries; ++i) {
      runs.push_back(
          simulate(candidate.launch, asked.usage, asked.limits, profile.model, tasks, seeds.of_run(i)));
    }
    std::ranges::sort(runs, {}, &Simulation::cycles_active_max);
    return runs[tries / 2];
  };

  const bool of_warps = loses_most_to_uneven_warps(prediction.losses);
  const double asked_cycles = run({launch, work}).cycles_active_max;
  std::vector<LaunchOfWork> better;  // each saves more than the one before
  double best_saved_pct = 100 * kLeastShare;
  for (const LaunchOfWork& candidate :
       of_warps ? std::vector{with_even_warps(launch, work)} : candidates(asked, work)) {
    const double saved_pct = 100 * (1 - run(candidate).cycles_active_max / asked_cycles);
    // Candidates that change less come first.
    if (saved_pct < best_saved_pct + (better.empty() ? 0 : 100 * kLeastShare)) continue;
    better.push_back(candidate);
    best_saved_pct = saved_pct;
  }
  // Uneven blocks are split as long as that saves more.
  const bool can_divide = !of_warps && !work.seed() && work.distribution.form != WorkForm::equal;
  double divided_saved_pct = 0;
  for (std::int64_t grid = 2 * launch.grid_blocks; can_divide && grid <= kMostUnevenBlocks; grid *= 2) {
    const LaunchOfWork candidate = with_grid(launch, work, grid);
    if (simulation_microseconds(asked.limits, tasks_of(candidate)) > kMostTriedMicroseconds) break;
    const double saved_pct = 100 * (1 - run(candidate).cycles_active_max / asked_cycles);
    if (saved_pct < divided_saved_pct + 100 * kLeastShare) break;
    divided_saved_pct = saved_pct;
    if (saved_pct < best_saved_pct) continue;
    better.push_back(candidate);
    best_saved_pct = saved_pct;
  }
  for (; !better.empty(); better.pop_back())
    if (auto advice = advice_of(better.back(), asked, prediction)) return advice;
  return std::nullopt;
}

double total_cycles(const Work& work, const Launch& launch) {
  const std::int64_t units = units_of(work, launch);
  const double warps_per_unit = work.per_warp ? 1 : warps_of_block(launch.block_threads);
  if (work.distribution.form == WorkForm::equal)
    return static_cast<double>(units) * static_cast<double>(work.cycles_of(0, units)) * warps_per_unit;
  double cycles = 0;
  for (std::int64_t unit = 0; unit < units; ++unit)
    cycles += static_cast<double>(work.cycles_of(unit, units));
  return cycles * warps_per_unit;
}

}  // namespace occbench
