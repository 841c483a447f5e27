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
  std::function<void(DeviceModel& model, double value)> set;
};

/// Each knob in turn made larger or smaller as long as the misfit falls.
void fit(DeviceProfile& profile, std::span<const Knob> knobs, const Limits& limits,
         std::span<const CalibrationLaunch> launches, std::size_t runs) {
  constexpr int kRounds = 6;
  constexpr double kFirstStep = 0.25;
  if (launches.empty()) return;
  std::vector<double> values;
  for (const Knob& knob : knobs) values.push_back(knob.start);
  std::vector<double> steps(knobs.size(), kFirstStep);
  double best = misfit(profile, limits, launches, runs);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      const double before = values[i];
      for (const double factor : {1 + steps[i], 1 / (1 + steps[i])}) {
        DeviceProfile changed = profile;
        const double value = three_digits(before * factor);
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

/// The parameters of a stage, from their typical values on.
std::vector<Knob> knobs_of(FittedTo stage, DeviceModel& model) {
  std::vector<Knob> knobs;
  for (const Parameter& parameter : parameters()) {
    if (parameter.fitted_to != stage) continue;
    knobs.push_back({parameter.typical, [&parameter](DeviceModel& of, double value) {
                       of.parameters.*parameter.value = value;
                     }});
    knobs.back().set(model, parameter.typical);
  }
  return knobs;
}

/// In launches of equal blocks GPC clocks part by more or less than in the traced one, whose load is another.
Knob clock_scale(const std::vector<int>& traced_ppm, double start) {
  return {start, [traced_ppm](DeviceModel& model, double scale) {
            std::ranges::transform(traced_ppm, model.gpc_clock_ppm.begin(),
                                   [&](int ppm) { return static_cast<int>(std::lround(ppm * scale)); });
          }};
}

/// Parameters that depend on chance, and the scale of known clocks. Who takes a tail flips with the scale, so
/// that a search ends near where it began: it begins with several, and the one that explains most is kept.
/// These scales lie around those that explain four H200s and two H100s.
DeviceProfile fit_known_clocks(const DeviceProfile& profile, std::vector<Knob> tails, const Limits& limits,
                               std::span<const CalibrationLaunch> launches) {
  constexpr std::array kScales = {0.8, 1.0, 1.25, 1.56};
  constexpr std::size_t kRunsToCompare = 15;
  std::optional<DeviceProfile> best;
  double least = 0;
  for (const double scale : kScales) {
    tails.push_back(clock_scale(profile.model.gpc_clock_ppm, scale));
    DeviceProfile candidate = profile;
    tails.back().set(candidate.model, scale);
    fit(candidate, tails, limits, launches, kRuns);
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
                             std::span<const CalibrationLaunch> launches, bool clocks_are_known) {
  DeviceModel& model = profile.model;
  const std::vector<Knob> whole_waves = knobs_of(FittedTo::whole_waves, model);
  std::vector<Knob> tails = knobs_of(FittedTo::tails, model);
  const std::vector<Knob> clocks = knobs_of(FittedTo::known_clocks, model);
  if (clocks_are_known) {
    // From launch to launch they differ less than those that nobody has traced.
    model.parameters.gpc_clock_spread_ppm /= 4;
    tails.push_back({model.parameters.gpc_clock_spread_ppm, clocks.front().set});
  }

  std::vector<CalibrationLaunch> ordered(launches.begin(), launches.end());
  const auto by_chance =
      std::stable_partition(ordered.begin(), ordered.end(), [&](const CalibrationLaunch& each) {
        return leaves_nothing_to_chance(each, limits, profile.sm_count());
      });
  fit(profile, whole_waves, limits, {ordered.begin(), by_chance}, kCertainRuns);
  const std::span<const CalibrationLaunch> of_chance(by_chance, ordered.end());
  if (clocks_are_known) return fit_known_clocks(profile, std::move(tails), limits, of_chance);
  fit(profile, tails, limits, of_chance, kRuns);
  return profile;
}

}  // namespace occbench
