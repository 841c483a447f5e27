#include "predict/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "occupancy/occupancy.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "predict/parallel.hpp"
#include "predict/parameters.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

constexpr std::size_t kRuns = 5;
constexpr std::size_t kCertainRuns = 3;  // for launches that hardly depend on chance
constexpr double kPointsPerActivePct = 1.0 / 3;

/// No profile is more exact.
double three_digits(double value) {
  const double scale = std::pow(10, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
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
  return std::abs(median(achieved) - measured.achieved_pct) +
         kPointsPerActivePct * 100 * std::abs(median(active) / measured.cycles_active - 1);
}

double misfit(const DeviceProfile& profile, const Limits& limits, std::span<const CalibrationLaunch> launches,
              std::size_t runs) {
  std::vector<double> misfits(launches.size());
  for_each_parallel(launches.size(),
                    [&](std::size_t i) { misfits[i] = misfit(profile, limits, launches[i], runs); });
  return std::accumulate(misfits.begin(), misfits.end(), 0.0) / static_cast<double>(launches.size());
}

/// A value that a fit scales by factors.
struct Knob {
  double start;
  double least;
  double most;
  std::function<void(DeviceModel& model, double value)> set;
};

/// Makes each knob in turn larger or smaller, as long as the misfit falls.
void fit(DeviceProfile& profile, std::span<const Knob> knobs, const Limits& limits,
         std::span<const CalibrationLaunch> launches, std::size_t runs, const FitSearch& search) {
  if (launches.empty()) return;
  std::vector<double> values = mapped(knobs, &Knob::start);
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

/// The parameters of a stage, without those whose rules are off.
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

/// In launches of equal blocks, GPC clocks differ by more or less than in the recorded launch, because its
/// load differs.
Knob clock_scale(const std::vector<int>& recorded_ppm, double start) {
  return {start, 0, 10, [recorded_ppm](DeviceModel& model, double scale) {
            std::ranges::transform(recorded_ppm, model.gpc_clock_ppm.begin(),
                                   [&](int ppm) { return static_cast<int>(std::lround(ppm * scale)); });
          }};
}

/// Fits parameters that depend on chance, and the scale of known clocks.
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

/// SMs that were visited together.
struct Run {
  std::vector<int> sms;
  bool singleton = false;
};

/// One run of the SMs that had a second block before all had one, and runs of ascending SMs, in the order of
/// their first blocks, of the others. Empty if an SM had none.
std::vector<Run> first_runs(int sm_count, std::span<const RecordedBlock> blocks) {
  std::vector<int> taken(static_cast<std::size_t>(sm_count));
  std::vector<int> order;
  for (const RecordedBlock& block : blocks) {
    if (static_cast<int>(order.size()) == sm_count) break;
    if (block.sm < 0 || block.sm >= sm_count) return {};
    if (taken[static_cast<std::size_t>(block.sm)]++ == 0) order.push_back(block.sm);
  }
  if (static_cast<int>(order.size()) < sm_count) return {};
  std::vector<Run> runs;
  Run singleton{{}, true};
  int previous = sm_count;
  for (const int sm : order) {
    if (taken[static_cast<std::size_t>(sm)] > 1) {
      singleton.sms.push_back(sm);
      continue;
    }
    if (sm < previous) runs.emplace_back();
    runs.back().sms.push_back(sm);
    previous = sm;
  }
  // Puts the two SMs of a TPC side by side, TPCs in dispatch order. The driver numbers the two SMs of a TPC
  // consecutively.
  const std::vector<int> order_of_singletons = singleton.sms;
  std::ranges::stable_sort(singleton.sms, {}, [&](int sm) {
    return std::ranges::find(order_of_singletons, sm / 2, [](int other) { return other / 2; }) -
           order_of_singletons.begin();
  });
  if (!singleton.sms.empty()) runs.push_back(std::move(singleton));
  return runs;
}

using RecordedLaunches = std::initializer_list<std::span<const RecordedBlock>>;

/// Mean cycles from the last end on an SM to the next start there, over `sms`.
std::optional<double> mean_replacement_latency(std::span<const int> sms, RecordedLaunches launches) {
  double sum = 0;
  int count = 0;
  for (const std::span<const RecordedBlock> blocks : launches) {
    for (const int sm : sms) {
      std::vector<double> ends;
      std::vector<double> starts;
      for (const RecordedBlock& block : blocks) {
        if (block.sm != sm) continue;
        ends.push_back(block.end_cycles);
        starts.push_back(block.start_cycles);
      }
      std::ranges::sort(ends);
      for (const double start : starts) {
        const auto later = std::ranges::upper_bound(ends, start);
        if (later == ends.begin()) continue;
        sum += start - *std::prev(later);
        ++count;
      }
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

/// The pairs of SMs (TPCs) of a run; the last has one SM if their number is odd.
std::vector<std::span<const int>> pairs_of(const Run& run) {
  std::vector<std::span<const int>> pairs;
  for (std::size_t first = 0; first < run.sms.size(); first += 2) {
    pairs.push_back(std::span(run.sms).subspan(first, std::min<std::size_t>(2, run.sms.size() - first)));
  }
  return pairs;
}

/// Extra latency of a block replacement on each TPC, relative to the fastest TPC. A TPC without recorded
/// replacements gets the mean.
std::vector<int> tpc_replacement_latency_cycles(std::span<const Run> runs, RecordedLaunches launches) {
  constexpr double kStep = 10;
  std::vector<std::optional<double>> all;
  for (const Run& run : runs) {
    for (const std::span<const int> pair : pairs_of(run))
      all.push_back(mean_replacement_latency(pair, launches));
  }
  double least = std::numeric_limits<double>::infinity();
  double sum = 0;
  double count = 0;
  for (const std::optional<double>& cycles : all) {
    if (!cycles) continue;
    least = std::min(least, *cycles);
    sum += *cycles;
    ++count;
  }
  std::vector<int> longer;
  for (const std::optional<double>& cycles : all) {
    longer.push_back(
        count == 0 ? 0
                   : static_cast<int>(kStep * std::round((cycles.value_or(sum / count) - least) / kStep)));
  }
  return longer;
}

/// Cycles of the SMs' own clock per cycle of the common clock; 1 if none were recorded.
double clock_rate(std::span<const int> sms, RecordedLaunches launches) {
  double own = 0;
  double common = 0;
  for (const std::span<const RecordedBlock> blocks : launches) {
    for (const RecordedBlock& block : blocks) {
      if (block.own_cycles <= 0 || std::ranges::find(sms, block.sm) == sms.end()) continue;
      own += block.own_cycles;
      common += block.end_cycles - block.start_cycles;
    }
  }
  return common > 0 ? own / common : 1;
}

/// Clock of each GPC relative to the mean SM's, then of each pair of singleton SMs.
std::vector<int> clock_ppm(std::span<const Run> runs, RecordedLaunches launches) {
  constexpr double kStep = 10;
  std::vector<double> of_gpcs;
  std::vector<double> of_pairs;
  double sum = 0;
  double sms = 0;
  for (const Run& run : runs) {
    const double rate = clock_rate(run.sms, launches);
    sum += rate * static_cast<double>(run.sms.size());
    sms += static_cast<double>(run.sms.size());
    if (!run.singleton) {
      of_gpcs.push_back(rate);
      continue;
    }
    for (const std::span<const int> pair : pairs_of(run)) of_pairs.push_back(clock_rate(pair, launches));
  }
  const auto ppm = [&](double rate) {
    return static_cast<int>(kStep * std::round(1e6 / kStep * (rate * sms / sum - 1)));
  };
  std::vector<int> all;
  for (const double rate : of_gpcs) all.push_back(ppm(rate));
  for (const double rate : of_pairs) {
    all.push_back(
        ppm(*std::ranges::min_element(of_gpcs, {}, [&](double of) { return std::abs(of - rate); })));
  }
  return all;
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

bool find_gpcs(DeviceModel& model, std::span<const RecordedBlock> blocks,
               std::span<const RecordedBlock> again) {
  constexpr std::size_t kMostSmsOfGpc = 64;
  const int sm_count = model.topology.sm_count();
  std::vector<Run> runs = first_runs(sm_count, blocks);
  const bool told = std::ranges::count(runs, false, &Run::singleton) > 0 &&
                    std::ranges::all_of(runs, [](const Run& run) { return run.sms.size() <= kMostSmsOfGpc; });
  if (!told) {
    model = DeviceModel::uniform(Topology::even(sm_count), model.parameters);
    return false;
  }
  std::ranges::sort(runs, {}, [](const Run& run) { return std::pair(run.singleton, run.sms.front()); });
  std::vector<int> gpc_sms;
  int singleton_sms = 0;
  for (const Run& run : runs) {
    if (run.singleton) {
      singleton_sms = static_cast<int>(run.sms.size());
    } else {
      gpc_sms.push_back(static_cast<int>(run.sms.size()));
    }
  }
  model.topology = Topology(std::move(gpc_sms), singleton_sms);
  model.gpc_clock_ppm = clock_ppm(runs, {blocks, again});
  model.tpc_replacement_latency_cycles = tpc_replacement_latency_cycles(runs, {blocks, again});
  return std::ranges::any_of(blocks, [](const RecordedBlock& block) { return block.own_cycles > 0; });
}

}  // namespace occbench
