#include "predict/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "occupancy/occupancy.hpp"
#include "predict/chance.hpp"
#include "predict/parallel.hpp"
#include "predict/parameters.hpp"
#include "predict/tasks.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

constexpr std::size_t kRuns = 5;
constexpr std::size_t kCertainRuns = 3;  // of what hardly depends on chance
constexpr double kPointsPerActivePct = 1.0 / 3;

/// No profile is more exact.
double three_digits(double value) {
  const double scale = std::pow(10, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double misfit(const DeviceProfile& profile, const Limits& limits, const CalibrationLaunch& measured,
              std::size_t runs) {
  const int warps_per_block = theoretical_occupancy(limits, measured.launch, measured.usage).warps_per_block;
  const Tasks tasks(measured.work, measured.launch.grid_blocks, warps_per_block);
  const Seeds seeds({.first_gpc = measured.first_gpc}, profile);
  std::vector<double> achieved;
  std::vector<double> active;
  for (std::size_t run = 0; run < runs; ++run) {
    const Simulation simulation =
        simulate(measured.launch, measured.usage, limits, profile.model, tasks, seeds.of_run(run));
    achieved.push_back(simulation.achieved_pct);
    active.push_back(simulation.cycles_active_mean);
  }
  return std::abs(middle(achieved) - measured.achieved_pct) +
         kPointsPerActivePct * 100 * std::abs(middle(active) / measured.cycles_active - 1);
}

double misfit(const DeviceProfile& profile, const Limits& limits, std::span<const CalibrationLaunch> launches,
              std::size_t runs) {
  std::vector<double> misfits(launches.size());
  for_each_parallel(launches.size(),
                    [&](std::size_t i) { misfits[i] = misfit(profile, limits, launches[i], runs); });
  return std::accumulate(misfits.begin(), misfits.end(), 0.0) / static_cast<double>(launches.size());
}

/// Something that a fit makes larger or smaller by factors.
struct Knob {
  double start;
  double least;
  double most;
  std::function<void(DeviceModel& model, double value)> set;
};

/// Each knob in turn made larger or smaller as long as the misfit falls.
void fit(DeviceProfile& profile, std::span<const Knob> knobs, const Limits& limits,
         std::span<const CalibrationLaunch> launches, std::size_t runs, const FitSearch& search) {
  if (launches.empty()) return;
  std::vector<double> values;
  for (const Knob& knob : knobs) values.push_back(knob.start);
  std::vector<double> steps(knobs.size(), search.first_step);
  double best = misfit(profile, limits, launches, runs);
  for (int round = 0; round < search.rounds; ++round) {
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      const double before = values[i];
      for (const double factor : {1 + steps[i], 1 / (1 + steps[i])}) {
        DeviceProfile changed = profile;
        const double value = three_digits(before * factor);
        if (value < knobs[i].least || value > knobs[i].most) continue;
        knobs[i].set(changed.model, value);
        const double now = misfit(changed, limits, launches, runs);
        if (now >= best) continue;
        best = now;
        profile = std::move(changed);
        values[i] = value;
        break;
      }
      if (values[i] == before) steps[i] /= 2;
    }
  }
}

/// The parameters of a stage whose rules are on.
std::vector<Knob> knobs_of(FittedTo stage, const DeviceModel& model) {
  std::vector<Knob> knobs;
  for (const Parameter& parameter : parameters()) {
    const double value = model.parameters.*parameter.value;
    if (parameter.fitted_to != stage || value == parameter.off) continue;
    knobs.push_back({value, parameter.least_elsewhere, parameter.most_elsewhere,
                     [&parameter](DeviceModel& of, double now) { of.parameters.*parameter.value = now; }});
  }
  return knobs;
}

/// In launches of equal blocks GPC clocks part by more or less than in the traced one, whose load is another.
Knob clock_scale(const std::vector<int>& traced_ppm, double start) {
  return {start, 0, 10, [traced_ppm](DeviceModel& model, double scale) {
            std::ranges::transform(traced_ppm, model.gpc_clock_ppm.begin(),
                                   [&](int ppm) { return static_cast<int>(std::lround(ppm * scale)); });
          }};
}

/// Parameters that depend on chance, and the scale of known clocks.
DeviceProfile fit_known_clocks(const DeviceProfile& profile, std::vector<Knob> tails, const Limits& limits,
                               std::span<const CalibrationLaunch> launches, const FitSearch& search) {
  constexpr std::size_t kRunsToCompare = 15;
  std::optional<DeviceProfile> best;
  double least = 0;
  for (const double scale : search.clock_scales) {
    tails.push_back(clock_scale(profile.model.gpc_clock_ppm, scale));
    DeviceProfile candidate = profile;
    tails.back().set(candidate.model, scale);
    fit(candidate, tails, limits, launches, kRuns, search);
    tails.pop_back();
    const double now = launches.empty() ? 0 : misfit(candidate, limits, launches, kRunsToCompare);
    if (best && now >= least) continue;
    least = now;
    best = std::move(candidate);
  }
  return *best;
}

/// Equal blocks in whole waves, or in no more than one.
bool leaves_nothing_to_chance(const CalibrationLaunch& measured, const Limits& limits, int sm_count) {
  const Occupancy occupancy = theoretical_occupancy(limits, measured.launch, measured.usage);
  const std::int64_t wave = full_wave_blocks(occupancy, sm_count);
  const std::int64_t blocks = measured.launch.grid_blocks;
  return measured.launch.cluster_blocks == 1 && (blocks <= wave || (wave > 0 && blocks % wave == 0)) &&
         Tasks(measured.work, blocks, occupancy.warps_per_block).all_equal();
}

}  // namespace

double misfit(const DeviceProfile& profile, const Limits& limits,
              std::span<const CalibrationLaunch> launches) {
  return misfit(profile, limits, launches, kRuns);
}

DeviceProfile fit_parameters(DeviceProfile profile, const Limits& limits,
                             std::span<const CalibrationLaunch> launches, bool clocks_are_known,
                             const FitSearch& search) {
  for (const CalibrationLaunch& each : launches) Seeds({.first_gpc = each.first_gpc}, profile);
  const DeviceModel& model = profile.model;
  const std::vector<Knob> whole_waves = knobs_of(FittedTo::whole_waves, model);
  std::vector<CalibrationLaunch> ordered(launches.begin(), launches.end());
  const auto by_chance =
      std::stable_partition(ordered.begin(), ordered.end(), [&](const CalibrationLaunch& each) {
        return leaves_nothing_to_chance(each, limits, profile.sm_count());
      });
  fit(profile, whole_waves, limits, {ordered.begin(), by_chance}, kCertainRuns, search);
  if (!clocks_are_known) return profile;
  return fit_known_clocks(profile, knobs_of(FittedTo::known_clocks, model), limits,
                          {by_chance, ordered.end()}, search);
}

}  // namespace occbench
