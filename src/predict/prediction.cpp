#include "predict/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "occupancy/occupancy.hpp"
#include "predict/parameter_range.hpp"

namespace occbench {
namespace {

/// Blocks simulated for one figure, over all runs: in large grids chance matters less, and fewer runs do.
/// Blocks that contend take ten times as long to simulate.
constexpr std::int64_t kMostBlocksOfRuns = 1 << 16;
constexpr std::int64_t kMostContendingBlocksOfRuns = 1 << 15;
/// Those of a generic prediction may cost so much: its parameters are less certain than chance.
constexpr double kGenericRunsMicroseconds = 10'000;

/// Work of this mean length has no overheads to speak of.
constexpr double kVeryLongCycles = 1e9;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The same launch under changed circumstances.
class Runs {
 public:
  Runs(const Launch& launch, const Usage& usage, const Limits& limits, const DeviceProfile& profile,
       const Chance& chance)
      : launch_(launch),
        usage_(usage),
        limits_(limits),
        profile_(profile),
        seeds_(chance, profile),
        most_runs_(chance.most_runs) {}

  std::vector<Simulation> operator()(const Tasks& tasks) const {
    const std::int64_t most = tasks.contends() ? kMostContendingBlocksOfRuns : kMostBlocksOfRuns;
    const std::int64_t fit = most / std::max<std::int64_t>(1, tasks.grid_blocks());
    // An odd number: the median is then one of them.
    const std::int64_t runs = (std::clamp<std::int64_t>(fit, 1, most_runs_) - 1) / 2 * 2 + 1;
    std::vector<Simulation> simulations;
    for (std::int64_t run = 0; run < runs; ++run) {
      simulations.push_back(simulate(launch_, usage_, limits_, profile_.model, tasks,
                                     seeds_.of_run(static_cast<std::uint64_t>(run))));
    }
    return simulations;
  }

  double achieved_pct(const Tasks& tasks) const {
    std::vector<double> values;
    for (const Simulation& simulation : (*this)(tasks)) values.push_back(simulation.achieved_pct);
    return median(std::move(values));
  }

  double achieved_pct_without_overheads(const Tasks& tasks) const {
    return achieved_pct(tasks.stretched(std::max(1.0, kVeryLongCycles / tasks.mean_cycles())));
  }

 private:
  const Launch& launch_;
  const Usage& usage_;
  const Limits& limits_;
  const DeviceProfile& profile_;
  Seeds seeds_;
  std::int64_t most_runs_;
};

/// `predicted` = with everything; `wave` = blocks the device holds at once.
Losses find_losses(const Runs& runs, const Tasks& tasks, double theoretical, double predicted,
                   std::int64_t wave) {
  const Tasks alone = tasks.alone();
  const Tasks even = alone.even_everywhere();
  const double one_wave =
      tasks.grid_blocks() < wave ? runs.achieved_pct_without_overheads(even) : theoretical;
  const double whole_grid =
      tasks.grid_blocks() <= wave ? one_wave : runs.achieved_pct_without_overheads(even);
  const double uneven_blocks = tasks.all_equal()
                                   ? whole_grid
                                   : runs.achieved_pct_without_overheads(
                                         tasks.differ_within_blocks() ? alone.even_within_blocks() : alone);
  const double uneven_warps =
      tasks.differ_within_blocks() ? runs.achieved_pct_without_overheads(alone) : uneven_blocks;
  const double with_overheads = tasks.contends() ? runs.achieved_pct(alone) : predicted;
  return {theoretical - one_wave,       one_wave - whole_grid,         whole_grid - uneven_blocks,
          uneven_blocks - uneven_warps, uneven_warps - with_overheads, with_overheads - predicted};
}

}  // namespace

Prediction predict(const Launch& launch, const Usage& usage, const Limits& limits,
                   const DeviceProfile& profile, const Tasks& tasks, const Chance& chance) {
  const Runs runs(launch, usage, limits, profile, chance);
  std::vector<Simulation> simulations = runs(tasks);
  std::ranges::sort(simulations, {}, &Simulation::achieved_pct);
  const auto middle = [&](double Simulation::*value) {
    std::vector<double> values;
    for (const Simulation& simulation : simulations) values.push_back(simulation.*value);
    return median(std::move(values));
  };

  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const std::int64_t wave = full_wave_blocks(occupancy, profile.sm_count());
  Prediction prediction;
  prediction.device_profile = profile.name;
  prediction.theoretical_pct = occupancy.theoretical_pct;
  prediction.predicted_pct = middle(&Simulation::achieved_pct);
  prediction.predicted_low_pct = simulations.front().achieved_pct;
  prediction.predicted_high_pct = simulations.back().achieved_pct;
  prediction.predicted_elapsed_pct = middle(&Simulation::elapsed_pct);
  prediction.cycles_active_min = middle(&Simulation::cycles_active_min);
  prediction.cycles_active_mean = middle(&Simulation::cycles_active_mean);
  prediction.cycles_active_max = middle(&Simulation::cycles_active_max);
  prediction.resident_blocks = middle(&Simulation::resident_blocks);
  prediction.losses = find_losses(runs, tasks, prediction.theoretical_pct, prediction.predicted_pct, wave);
  prediction.timeline = std::move(simulations[simulations.size() / 2].timeline);
  return prediction;
}

Prediction predict(const Launch& launch, const Usage& usage, const Limits& limits,
                   const ChosenProfile& chosen, const Tasks& tasks, const Chance& chance) {
  require_simulable(limits, tasks);
  Chance runs = chance;
  if (chosen.quality == ProfileQuality::generic) {
    const double fit = kGenericRunsMicroseconds / std::max(1.0, simulation_microseconds(limits, tasks));
    runs.most_runs = std::clamp(static_cast<std::int64_t>(fit), std::int64_t{1}, chance.most_runs);
  }
  Prediction prediction = predict(launch, usage, limits, chosen.profile, tasks, runs);
  add_quality(prediction, launch, usage, limits, chosen, tasks, chance);
  return prediction;
}

void require_simulable(const Limits& limits, const Tasks& tasks) {
  const double seconds = simulation_microseconds(limits, tasks) / 1e6;
  if (tasks.all_equal() || seconds <= kMostSimulationSeconds) return;
  const double fits = kMostSimulationSeconds / seconds * static_cast<double>(tasks.grid_blocks());
  throw InputError(
      fmt::format("a prediction simulates all of these {} uneven blocks some ten times or more, each time "
                  "for about {:.0f} s; at most "
                  "{:.0f} s are taken: predict the same work in a grid of at most {} blocks",
                  with_thousands(tasks.grid_blocks()), seconds, kMostSimulationSeconds,
                  with_thousands(static_cast<std::int64_t>(fits))));
}

void add_quality(Prediction& prediction, const Launch& launch, const Usage& usage, const Limits& limits,
                 const ChosenProfile& chosen, const Tasks& tasks, const Chance& chance) {
  prediction.profile_quality = chosen.quality;
  if (chosen.quality != ProfileQuality::generic) return;
  const OccupancyRange range = parameter_range(launch, usage, limits, chosen, tasks, chance);
  prediction.predicted_low_pct = std::min(prediction.predicted_low_pct, range.low_pct);
  prediction.predicted_high_pct = std::max(prediction.predicted_high_pct, range.high_pct);
}

std::string with_thousands(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace occbench
