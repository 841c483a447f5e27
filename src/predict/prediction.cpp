#include "predict/prediction.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

/// Blocks simulated for one figure, over all runs.
/// Blocks that contend take ten times as long to simulate.
constexpr std::int64_t kMostBlocksOfRuns = 1 << 16;
constexpr std::int64_t kMostContendingBlocksOfRuns = 1 << 15;
/// Time limit for the runs of a generic prediction.
constexpr double kGenericRunsMicroseconds = 10'000;

/// At this mean length of work, overheads are negligible.
constexpr double kVeryLongCycles = 1e9;

/// Spread of a GPU's clocks that are not measured, as multiples of the profile's `gpc_clock_spread_ppm`. With
/// the 600 ppm of the built-in profiles, clocks are drawn up to 1,200 to 2,400 ppm from the mean. The clocks
/// of three measured GPUs (the profiles under results/) have standard deviations of 780, 1,050 and 1,880 ppm,
/// as if drawn up to 1,350, 1,820 and 3,260 ppm from it; launches of another H200 (tests/data/h200_launches)
/// are explained best by 600. The most likely multiple comes first, because large grids are simulated only
/// once.
constexpr std::array<double, 3> kClockSpreads = {3, 2, 4};

bool has_clocks(const DeviceModel& model) {
  return std::ranges::any_of(model.gpc_clock_ppm, [](int ppm) { return ppm != 0; });
}

/// The same launch under changed circumstances.
class RepeatedSimulation {
 public:
  explicit RepeatedSimulation(const Asked& asked)
      : asked_(asked), model_(asked.chosen.profile.model), seeds_(asked.chance, asked.chosen.profile) {}

  std::vector<Simulation> operator()(const Tasks& tasks) const {
    const std::int64_t runs = runs_of(tasks, asked_.chance);
    std::vector<Simulation> simulations;
    DeviceModel model = model_;
    for (std::size_t run = 0; run < static_cast<std::size_t>(runs); ++run) {
      if (!has_clocks(model_)) {
        model.parameters.gpc_clock_spread_ppm =
            kClockSpreads[run % kClockSpreads.size()] * model_.parameters.gpc_clock_spread_ppm;
      }
      simulations.push_back(
          simulate(asked_.launch, asked_.usage, asked_.limits, model, tasks, seeds_.of_run(run)));
    }
    return simulations;
  }

  double achieved_pct(const Tasks& tasks) const {
    return median(mapped((*this)(tasks), &Simulation::achieved_pct));
  }

  double achieved_pct_without_overheads(const Tasks& tasks) const {
    return achieved_pct(tasks.stretched(std::max(1.0, kVeryLongCycles / tasks.mean_cycles())));
  }

 private:
  Asked asked_;
  const DeviceModel& model_;
  Seeds seeds_;
};

/// At most the runs of chance_of().
RepeatedSimulation runs_in_time(Asked asked, const Tasks& tasks) {
  asked.chance = chance_of(asked.chosen, asked.limits, tasks, asked.chance);
  return RepeatedSimulation(asked);
}

Simulations summary(std::vector<Simulation> simulations) {
  // Stable, so that ties have the same order with every C++ library.
  std::ranges::stable_sort(simulations, {}, &Simulation::achieved_pct);
  const auto of = [&](double Simulation::*value) {
    const std::vector<double> values = mapped(simulations, value);
    const auto [low, high] = std::ranges::minmax(values);
    return RunRange{low, median(values), high};
  };
  Simulations found;
  found.achieved = of(&Simulation::achieved_pct);
  found.elapsed = of(&Simulation::elapsed_pct);
  found.cycles_active_min = of(&Simulation::cycles_active_min).middle;
  found.cycles_active_mean = of(&Simulation::cycles_active_mean).middle;
  found.cycles_active_max = of(&Simulation::cycles_active_max).middle;
  found.resident_blocks = of(&Simulation::resident_blocks).middle;
  found.timeline = std::move(simulations[simulations.size() / 2].timeline);
  return found;
}

/// `predicted` = with everything; `places` = blocks for which all SMs have room; `wave` = blocks that the
/// device holds at once, fewer if GPCs have no room for a whole cluster.
Losses find_losses(const RepeatedSimulation& runs, const Tasks& tasks, double theoretical, double predicted,
                   std::int64_t places, std::int64_t wave) {
  const Tasks alone = tasks.alone();
  const Tasks even = alone.even_everywhere();
  const double one_wave = tasks.grid_blocks() < places && tasks.grid_blocks() <= wave
                              ? runs.achieved_pct_without_overheads(even)
                              : theoretical;
  const double whole_grid =
      tasks.grid_blocks() <= wave ? one_wave : runs.achieved_pct_without_overheads(even);
  const double uneven_blocks = tasks.all_equal()
                                   ? whole_grid
                                   : runs.achieved_pct_without_overheads(
                                         tasks.differ_within_blocks() ? alone.even_within_blocks() : alone);
  const double uneven_warps =
      tasks.differ_within_blocks() ? runs.achieved_pct_without_overheads(alone) : uneven_blocks;
  const double with_contention = tasks.contends() ? runs.achieved_pct_without_overheads(tasks) : uneven_warps;
  return {.small_grid = theoretical - one_wave,
          .tail = one_wave - whole_grid,
          .between_blocks = whole_grid - uneven_blocks,
          .within_block = uneven_blocks - uneven_warps,
          .overhead = with_contention - predicted,
          .contention = uneven_warps - with_contention};
}

/// The larger margin on each side.
KindMargins wider(const KindMargins& one, const KindMargins& other) {
  const auto of = [](const Margin& a, const Margin& b) {
    return Margin{std::max(a.below, b.below), std::max(a.above, b.above)};
  };
  return {of(one.achieved, other.achieved), of(one.elapsed, other.elapsed)};
}

}  // namespace

std::int64_t runs_of(const Tasks& tasks, const Chance& chance) {
  const std::int64_t most = tasks.contends() ? kMostContendingBlocksOfRuns : kMostBlocksOfRuns;
  const std::int64_t fit = most / std::max<std::int64_t>(1, tasks.grid_blocks());
  // The median of an odd number of runs is one of them.
  return (std::clamp<std::int64_t>(fit, 1, chance.most_runs) - 1) / 2 * 2 + 1;
}

Chance chance_of(const ChosenProfile& chosen, const Limits& limits, const Tasks& tasks, Chance chance) {
  if (chosen.quality != ProfileQuality::generic) return chance;
  const double fit = kGenericRunsMicroseconds / std::max(1.0, simulation_microseconds(limits, tasks));
  chance.most_runs = std::clamp(static_cast<std::int64_t>(fit), std::int64_t{1}, chance.most_runs);
  return chance;
}

Simulations simulate_often(const Launch& launch, const Usage& usage, const Limits& limits,
                           const DeviceProfile& profile, const Tasks& tasks, const Chance& chance) {
  const ChosenProfile chosen{.profile = profile};
  return summary(RepeatedSimulation({launch, usage, limits, chosen, chance})(tasks));
}

Simulations simulate_often(const Asked& asked, const Tasks& tasks) {
  Simulations simulations = summary(runs_in_time(asked, tasks)(tasks));
  if (const auto range = range_of_unknowns(asked, tasks)) widen(simulations, *range);
  // Rounded sums may be above it.
  const double most =
      most_pct(asked.launch, asked.limits, theoretical_occupancy(asked.limits, asked.launch, asked.usage),
               asked.chosen.profile.sm_count(), tasks);
  for (RunRange* const runs : {&simulations.achieved, &simulations.elapsed})
    *runs = {std::min(runs->low, most), std::min(runs->middle, most), std::min(runs->high, most)};
  return simulations;
}

void require_simulable(const Limits& limits, const Tasks& tasks) {
  const double seconds = simulation_microseconds(limits, tasks) / 1e6;
  if (tasks.all_equal() || seconds <= kMostSimulationSeconds) return;
  const double fits = kMostSimulationSeconds / seconds * static_cast<double>(tasks.grid_blocks());
  throw InputError(
      "a prediction simulates all of these {} uneven blocks some ten times or more, each time for about "
      "{:.0f} s; at most {:.0f} s are taken: predict the same work in a grid of at most {} blocks",
      grouped(tasks.grid_blocks()), seconds, kMostSimulationSeconds,
      grouped(static_cast<std::int64_t>(fits)));
}

Intervals intervals_of(const Asked& asked, const Tasks& tasks, const RunRanges& simulations) {
  const Occupancy occupancy = theoretical_occupancy(asked.limits, asked.launch, asked.usage);
  const int sm_count = asked.chosen.profile.sm_count();
  const auto margins_with = [&](const Usage& usage) {
    return margins_of(kind_of(asked.launch, usage, occupancy, sm_count, tasks, asked.origin));
  };
  KindMargins margins = margins_with(asked.usage);
  // Margins of local memory were fitted to work that contends. Other work also keeps at least the margins of
  // its own kind.
  if (!tasks.contends()) {
    Usage without = asked.usage;
    without.local_bytes_per_thread = 0;
    margins = wider(margins, margins_with(without));
  }
  return intervals_of(simulations, margins, tasks.mean_cycles(),
                      most_pct(asked.launch, asked.limits, occupancy, sm_count, tasks));
}

Interval range_of_cycles(Asked asked, const Tasks& tasks, const Simulations& simulations) {
  asked.origin = WorkOrigin::given;
  const Interval elapsed = intervals_of(asked, tasks, simulations).elapsed;
  const double warp_cycles = simulations.cycles_active_max * simulations.elapsed.middle;
  return {warp_cycles / elapsed.high, warp_cycles / elapsed.low};
}

Prediction predict(const Asked& asked, const Tasks& tasks) {
  require_simulable(asked.limits, tasks);
  const Simulations simulations = simulate_often(asked, tasks);
  const ChosenProfile& chosen = asked.chosen;
  const Occupancy occupancy = theoretical_occupancy(asked.limits, asked.launch, asked.usage);
  Prediction prediction;
  prediction.device_profile = chosen.profile.name;
  prediction.profile_quality = chosen.quality;
  prediction.theoretical_pct = occupancy.theoretical_pct;
  prediction.predicted_pct = simulations.achieved.middle;
  prediction.predicted_elapsed_pct = simulations.elapsed.middle;
  static_cast<SimulatedReadings&>(prediction) = simulations;
  prediction.losses =
      find_losses(runs_in_time(asked, tasks), tasks, prediction.theoretical_pct, prediction.predicted_pct,
                  full_wave_blocks(occupancy, chosen.profile.sm_count()),
                  full_wave_of_clusters(occupancy, asked.launch.cluster_blocks, chosen.profile.sm_count(),
                                        chosen.profile.model.topology.sms_per_gpc()));
  const Intervals intervals = intervals_of(asked, tasks, simulations);
  prediction.interval = intervals.achieved;
  prediction.elapsed_interval = intervals.elapsed;
  prediction.cycles_range = range_of_cycles(asked, tasks, simulations);
  return prediction;
}

}  // namespace occbench
