#include "predict/parameter_range.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "occupancy/occupancy.hpp"
#include "predict/parameters.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

struct Ends {
  double DeviceParameters::*value;
  double low, high;
};

bool matters(const Parameter& parameter, const Tasks& tasks, std::int64_t wave,
             const DeviceParameters& of_device) {
  switch (parameter.matters_to) {
    case MattersTo::every_launch:
      return true;
    case MattersTo::more_than_a_wave:
      return tasks.grid_blocks() > wave;
    case MattersTo::less_than_a_wave:
      return tasks.grid_blocks() < wave;
    case MattersTo::always_issuing:
      return tasks.rates().always_issues(of_device.always_issuing_share);
    case MattersTo::memory:
      return tasks.rates().bytes > 0;
  }
  return true;
}

std::vector<Ends> ends_that_matter(const Tasks& tasks, std::int64_t wave, const ChosenProfile& chosen) {
  const Bandwidth& bandwidth = chosen.bandwidth;
  std::vector<Ends> ends;
  for (const Parameter& parameter : parameters()) {
    if (!matters(parameter, tasks, wave, chosen.profile.model.parameters)) continue;
    const bool is_bandwidth = parameter.value == &DeviceParameters::bytes_per_cycle;
    const Ends its{parameter.value, is_bandwidth ? std::max(1.0, bandwidth.low) : parameter.least_elsewhere,
                   is_bandwidth ? std::max(1.0, bandwidth.high) : parameter.most_elsewhere};
    if (its.low < its.high) ends.push_back(its);
  }
  return ends;
}

}  // namespace

double simulation_microseconds(const Limits& limits, const Tasks& tasks) {
  const auto blocks = static_cast<double>(tasks.grid_blocks());
  const double warps = blocks * tasks.warps_per_block();
  if (tasks.contends()) return 0.6 * warps;
  const bool by_warp = tasks.differ_within_blocks() || tasks.warps_per_block() % limits.sub_partitions != 0;
  if (by_warp) return 0.35 * blocks + 0.06 * warps;
  return 0.15 * blocks;
}

ParameterRange parameter_range(const Launch& launch, const Usage& usage, const Limits& limits,
                               const ChosenProfile& chosen, const Tasks& tasks, const Chance& chance) {
  const std::uint64_t seed = Seeds(chance, chosen.profile).of_run(0);
  ParameterRange range;
  const auto widen = [](Interval& interval, double pct) {
    interval = {std::min(interval.low, pct), std::max(interval.high, pct)};
  };
  const auto try_with = [&](const DeviceParameters& parameters) {
    DeviceModel model = chosen.profile.model;
    model.parameters = parameters;
    const Simulation simulation = simulate(launch, usage, limits, model, tasks, seed);
    widen(range.achieved, simulation.achieved_pct);
    widen(range.elapsed, simulation.elapsed_pct);
  };
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const std::vector<Ends> all =
      ends_that_matter(tasks, full_wave_blocks(occupancy, chosen.profile.sm_count()), chosen);
  const DeviceParameters& middle = chosen.profile.model.parameters;
  for (const auto end : {&Ends::low, &Ends::high}) {
    DeviceParameters parameters = middle;
    for (const Ends& each : all) parameters.*each.value = each.*end;
    try_with(parameters);
  }
  double left = kRangeMicroseconds;
  const double pair = 2 * simulation_microseconds(limits, tasks);
  left -= pair;
  for (const Ends& each : all) {
    if ((left -= pair) < 0) break;
    for (const auto end : {&Ends::low, &Ends::high}) {
      DeviceParameters parameters = middle;
      parameters.*each.value = each.*end;
      try_with(parameters);
    }
  }
  return range;
}

}  // namespace occbench
