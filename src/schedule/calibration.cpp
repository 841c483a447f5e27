#include "schedule/calibration.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include "occupancy/occupancy.hpp"
#include "schedule/simulate.hpp"

namespace occbench {
namespace {

constexpr std::uint64_t kSeeds = 5;
constexpr double kPointsPerActivePct = 1.0 / 3;

/// What is fitted, in this order, and where from: an H200's values, rounded.
struct FittedParameter {
  double DeviceProfile::*cycles;
  double start;
};
constexpr std::array kParameters{
    FittedParameter{&DeviceProfile::refill_cycles_per_block, 1.1},
    FittedParameter{&DeviceProfile::hand_over_cycles, 300},
    FittedParameter{&DeviceProfile::poll_cycles_per_warp, 6},
    FittedParameter{&DeviceProfile::warp_overhead_cycles, 20},
    FittedParameter{&DeviceProfile::jitter_cycles, 80},
    FittedParameter{&DeviceProfile::gpc_spread_cycles, 300},
    FittedParameter{&DeviceProfile::gpc_clock_spread_ppm, 150},
    FittedParameter{&DeviceProfile::second_sm_cycles, 70},
    FittedParameter{&DeviceProfile::sm_spread_cycles, 70},
    FittedParameter{&DeviceProfile::sm_start_cycles_per_block, 25},
    FittedParameter{&DeviceProfile::sm_start_cycles_per_warp, 2},
    FittedParameter{&DeviceProfile::first_start_cycles, 20},
    FittedParameter{&DeviceProfile::fill_cycles_per_block, 0.3},
};

/// No profile is more exact.
double three_digits(double value) {
  const double scale = std::pow(10, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

double middle(std::array<double, kSeeds> values) {
  std::ranges::sort(values);
  return values[kSeeds / 2];
}

double misfit(const DeviceProfile& profile, const Limits& limits, const CalibrationLaunch& measured,
              const Tasks& tasks) {
  std::array<double, kSeeds> achieved;
  std::array<double, kSeeds> active;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Simulation simulation =
        simulate(measured.launch, measured.usage, limits, profile.sm_count, profile, tasks, seed + 1);
    achieved[seed] = simulation.achieved_pct;
    active[seed] = simulation.cycles_active_mean;
  }
  return std::abs(middle(achieved) - measured.achieved_pct) +
         kPointsPerActivePct * 100 * std::abs(middle(active) / measured.cycles_active - 1);
}

struct Run {
  std::vector<int> sms;
  bool eager = false;
};

/// The SMs that had a second block before all had one, as a run; and those that did not, as runs of ascending
/// SMs in the order in which they had their first. Empty if an SM had none.
std::vector<Run> first_runs(int sm_count, std::span<const TracedBlock> blocks) {
  std::vector<int> taken(static_cast<std::size_t>(sm_count));
  std::vector<int> order;
  for (const TracedBlock& block : blocks) {
    if (static_cast<int>(order.size()) == sm_count) break;
    if (block.sm < 0 || block.sm >= sm_count) return {};
    if (taken[static_cast<std::size_t>(block.sm)]++ == 0) order.push_back(block.sm);
  }
  if (static_cast<int>(order.size()) < sm_count) return {};
  std::vector<Run> runs;
  Run eager{{}, true};
  int previous = sm_count;
  for (const int sm : order) {
    if (taken[static_cast<std::size_t>(sm)] > 1) {
      eager.sms.push_back(sm);
      continue;
    }
    if (sm < previous) runs.emplace_back();
    runs.back().sms.push_back(sm);
    previous = sm;
  }
  // The two SMs of a TPC side by side, TPCs in the order of their turns.
  const std::vector<int> turns = eager.sms;
  std::ranges::stable_sort(eager.sms, {}, [&](int sm) {
    return std::ranges::find(turns, sm / 2, [](int other) { return other / 2; }) - turns.begin();
  });
  if (!eager.sms.empty()) runs.push_back(std::move(eager));
  return runs;
}

using Traces = std::initializer_list<std::span<const TracedBlock>>;

/// Mean cycles from the last end on an SM to the next start there, over some SMs.
std::optional<double> mean_hand_over(std::span<const int> sms, Traces traces) {
  double sum = 0;
  int count = 0;
  for (const std::span<const TracedBlock> blocks : traces) {
    for (const int sm : sms) {
      std::vector<double> ends;
      std::vector<double> starts;
      for (const TracedBlock& block : blocks) {
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

/// The pairs of SMs (TPCs) of a run, one SM where its number is odd.
std::vector<std::span<const int>> pairs_of(const Run& run) {
  std::vector<std::span<const int>> pairs;
  for (std::size_t first = 0; first < run.sms.size(); first += 2) {
    pairs.push_back(std::span(run.sms).subspan(first, std::min<std::size_t>(2, run.sms.size() - first)));
  }
  return pairs;
}

/// What a hand-over takes longer on each TPC than on the nearest, the eager ones at the end, as a profile has
/// them. As far as the mean one where none was traced.
std::vector<int> tpc_hand_over_cycles(std::span<const Run> runs, Traces traces) {
  constexpr double kStep = 10;
  std::vector<std::optional<double>> all;
  for (const bool eager : {false, true}) {
    for (const Run& run : runs) {
      if (run.eager != eager) continue;
      for (const std::span<const int> pair : pairs_of(run)) all.push_back(mean_hand_over(pair, traces));
    }
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

/// GPCs' clocks of a unit that nobody has traced fall by chance, up to so far from the mean. Those of seven
/// H200s were 1,300 to 2,400 ppm from it at most in a traced calibration, and 400 to 800 where warps compute
/// or poll without a pause (results/nvidia-h200/block-scheduling.md).
constexpr double kUnknownClocksPpm = 600;

/// By how much clocks differ from launch to launch can be told only where it is known how they differ.
std::vector<FittedParameter> fitted_parameters(bool clocks_are_known) {
  std::vector<FittedParameter> parameters(kParameters.begin(), kParameters.end());
  if (!clocks_are_known) {
    std::erase_if(parameters, [](const FittedParameter& parameter) {
      return parameter.cycles == &DeviceProfile::gpc_clock_spread_ppm;
    });
  }
  return parameters;
}

/// Cycles of the SMs' own clock in one of the common clock, by SM; 1 where none were recorded.
class ClockRates {
 public:
  ClockRates(int sm_count, Traces traces) : cycles_(static_cast<std::size_t>(sm_count)) {
    for (const std::span<const TracedBlock> blocks : traces) {
      for (const TracedBlock& block : blocks) {
        if (block.own_cycles <= 0 || block.sm < 0 || block.sm >= sm_count) continue;
        Cycles& cycles = cycles_[static_cast<std::size_t>(block.sm)];
        cycles.own += block.own_cycles;
        cycles.common += block.end_cycles - block.start_cycles;
      }
    }
  }

  double of(std::span<const int> sms) const {
    Cycles sum;
    for (const int sm : sms) {
      sum.own += cycles_[static_cast<std::size_t>(sm)].own;
      sum.common += cycles_[static_cast<std::size_t>(sm)].common;
    }
    return sum.common > 0 ? sum.own / sum.common : 1;
  }

 private:
  struct Cycles {
    double own = 0;
    double common = 0;
  };
  std::vector<Cycles> cycles_;
};

/// How much faster than the mean SM's each GPC's clock is, then those of the pairs of eager SMs, as a profile
/// has them.
std::vector<int> clock_ppm(std::span<const Run> runs, const ClockRates& rates) {
  constexpr double kStep = 10;
  std::vector<double> of_gpcs;
  std::vector<double> of_pairs;
  double sum = 0;
  double sms = 0;
  for (const Run& run : runs) {
    const double rate = rates.of(run.sms);
    sum += rate * static_cast<double>(run.sms.size());
    sms += static_cast<double>(run.sms.size());
    if (!run.eager) {
      of_gpcs.push_back(rate);
      continue;
    }
    for (const std::span<const int> pair : pairs_of(run)) of_pairs.push_back(rates.of(pair));
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

bool find_gpcs(DeviceProfile& profile, std::span<const TracedBlock> blocks,
               std::span<const TracedBlock> again) {
  constexpr std::size_t kMostSmsOfGpc = 64;
  std::vector<Run> runs = first_runs(profile.sm_count, blocks);
  profile.eager_sms = 0;
  const bool told = std::ranges::count(runs, false, &Run::eager) > 0 &&
                    std::ranges::all_of(runs, [](const Run& run) { return run.sms.size() <= kMostSmsOfGpc; });
  if (!told) {
    profile.gpc_sms = even_gpcs(profile.sm_count);
    profile.tpc_hand_over_cycles.assign(profile.tpc_count(), 0);
    profile.gpc_clock_ppm.assign(profile.clock_count(), 0);
    return false;
  }
  std::ranges::sort(runs, {}, [](const Run& run) { return run.sms.front(); });
  profile.gpc_clock_ppm = clock_ppm(runs, ClockRates(profile.sm_count, {blocks, again}));
  profile.tpc_hand_over_cycles = tpc_hand_over_cycles(runs, {blocks, again});
  profile.gpc_sms.clear();
  for (const Run& run : runs) {
    if (run.eager) {
      profile.eager_sms = static_cast<int>(run.sms.size());
    } else {
      profile.gpc_sms.push_back(static_cast<int>(run.sms.size()));
    }
  }
  return std::ranges::any_of(blocks, [](const TracedBlock& block) { return block.own_cycles > 0; });
}

double misfit(const DeviceProfile& profile, const Limits& limits,
              std::span<const CalibrationLaunch> launches) {
  std::vector<double> misfits(launches.size());
  std::atomic<std::size_t> next{0};
  const auto take_launches = [&] {
    for (std::size_t i; (i = next++) < launches.size();) {
      const CalibrationLaunch& each = launches[i];
      const int warps_per_block = theoretical_occupancy(limits, each.launch, each.usage).warps_per_block;
      misfits[i] = misfit(profile, limits, each, Tasks(each.work, each.launch.grid_blocks, warps_per_block));
    }
  };
  std::vector<std::future<void>> helpers;
  const std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), launches.size());
  for (std::size_t i = 1; i < threads; ++i) {
    helpers.push_back(std::async(std::launch::async, take_launches));
  }
  take_launches();
  for (std::future<void>& helper : helpers) helper.get();
  return std::accumulate(misfits.begin(), misfits.end(), 0.0) / static_cast<double>(launches.size());
}

DeviceProfile fit_cycles(DeviceProfile profile, const Limits& limits,
                         std::span<const CalibrationLaunch> launches, bool clocks_are_known) {
  constexpr int kRounds = 6;
  constexpr double kFirstStep = 0.25;
  const std::vector<FittedParameter> parameters = fitted_parameters(clocks_are_known);
  profile.gpc_clock_spread_ppm = 0;
  for (const FittedParameter& parameter : parameters) profile.*parameter.cycles = parameter.start;
  std::vector<double> steps(parameters.size(), kFirstStep);
  double best = misfit(profile, limits, launches);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto cycles = parameters[i].cycles;
      const double before = profile.*cycles;
      for (const double factor : {1 + steps[i], 1 / (1 + steps[i])}) {
        DeviceProfile changed = profile;
        changed.*cycles = three_digits(before * factor);
        const double now = misfit(changed, limits, launches);
        if (now >= best) continue;
        best = now;
        profile = changed;
        break;
      }
      if (profile.*cycles == before) steps[i] /= 2;
    }
  }
  if (!clocks_are_known) profile.gpc_clock_spread_ppm = kUnknownClocksPpm;
  return profile;
}

}  // namespace occbench
