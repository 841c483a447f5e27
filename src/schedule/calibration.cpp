#include "schedule/calibration.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <future>
#include <numeric>
#include <thread>

#include "occupancy/occupancy.hpp"
#include "schedule/chance.hpp"
#include "schedule/simulate.hpp"

namespace occbench {
namespace {

constexpr std::size_t kRuns = 5;
constexpr std::size_t kCertainRuns = 3;  // of what hardly depends on chance
constexpr double kPointsPerActivePct = 1.0 / 3;

/// What is fitted, in this order, and where from: an H200's values, rounded.
struct FittedParameter {
  double DeviceProfile::*cycles;
  double start;
};
/// Those that equal blocks in whole waves depend on, whoever takes them.
constexpr std::array kParameters{
    FittedParameter{&DeviceProfile::launch_overhead_cycles, 240},
    FittedParameter{&DeviceProfile::poll_cycles_per_warp, 2},
    FittedParameter{&DeviceProfile::replacement_latency_cycles, 200},
    FittedParameter{&DeviceProfile::replacement_dispatch_cycles_per_block, 1.1},
    FittedParameter{&DeviceProfile::busy_sm_warp_launch_cycles, 10},
    FittedParameter{&DeviceProfile::warp_retire_cycles, 18},
    FittedParameter{&DeviceProfile::block_launch_cycles, 20},
    FittedParameter{&DeviceProfile::warp_launch_cycles, 2.5},
    FittedParameter{&DeviceProfile::initial_dispatch_cycles_per_block, 0.2},
};
/// Those that decide which SM takes the next block.
constexpr std::array kChances{
    FittedParameter{&DeviceProfile::jitter_cycles, 100},
    FittedParameter{&DeviceProfile::gpc_delay_cycles, 60},
    FittedParameter{&DeviceProfile::second_sm_delay_cycles, 90},
    FittedParameter{&DeviceProfile::sm_delay_cycles, 60},
};
/// And where it is known how GPCs' clocks differ: by how much from launch to launch.
constexpr FittedParameter kClockChance{&DeviceProfile::gpc_clock_spread_ppm, 150};

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
  const Seeds seeds({.first_gpc = measured.first_gpc}, profile, profile.sm_count);
  std::vector<double> achieved;
  std::vector<double> active;
  for (std::size_t run = 0; run < runs; ++run) {
    const Simulation simulation = simulate(measured.launch, measured.usage, limits, profile.sm_count, profile,
                                           tasks, seeds.of_run(run));
    achieved.push_back(simulation.achieved_pct);
    active.push_back(simulation.cycles_active_mean);
  }
  return std::abs(middle(achieved) - measured.achieved_pct) +
         kPointsPerActivePct * 100 * std::abs(middle(active) / measured.cycles_active - 1);
}

double misfit(const DeviceProfile& profile, const Limits& limits, std::span<const CalibrationLaunch> launches,
              std::size_t runs) {
  std::vector<double> misfits(launches.size());
  std::atomic<std::size_t> next{0};
  const auto take_launches = [&] {
    for (std::size_t i; (i = next++) < launches.size();)
      misfits[i] = misfit(profile, limits, launches[i], runs);
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

/// GPCs' clocks of a unit that nobody has traced fall by chance, up to so far from the mean. Those of eleven
/// H200s were 1,200 to 2,400 ppm from it at most in a traced calibration, and 400 to 800 where warps compute
/// or poll without a pause (results/nvidia-h200/block-scheduling.md).
constexpr double kUnknownClocksPpm = 600;

/// In launches of equal blocks GPCs' clocks part by so much more than in the traced one, whose load is
/// another: the calibrations of four H200s fit best with 1.25, 1.25, 1.25 and 1.56 times what was traced.
constexpr double kClocksOverTraced = 1.25;

/// Each parameter in turn made larger or smaller as long as the misfit falls.
void fit(DeviceProfile& profile, std::span<const FittedParameter> parameters, const Limits& limits,
         std::span<const CalibrationLaunch> launches, std::size_t runs) {
  constexpr int kRounds = 6;
  constexpr double kFirstStep = 0.25;
  if (launches.empty()) return;
  std::vector<double> steps(parameters.size(), kFirstStep);
  double best = misfit(profile, limits, launches, runs);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto cycles = parameters[i].cycles;
      const double before = profile.*cycles;
      for (const double factor : {1 + steps[i], 1 / (1 + steps[i])}) {
        DeviceProfile changed = profile;
        changed.*cycles = three_digits(before * factor);
        const double now = misfit(changed, limits, launches, runs);
        if (now >= best) continue;
        best = now;
        profile = changed;
        break;
      }
      if (profile.*cycles == before) steps[i] /= 2;
    }
  }
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

DeviceProfile fit_cycles(DeviceProfile profile, const Limits& limits,
                         std::span<const CalibrationLaunch> launches, bool clocks_are_known) {
  std::vector<FittedParameter> chances(kChances.begin(), kChances.end());
  if (clocks_are_known) chances.push_back(kClockChance);
  for (int& ppm : profile.gpc_clock_ppm) ppm = static_cast<int>(std::lround(ppm * kClocksOverTraced));
  profile.gpc_clock_spread_ppm = 0;
  for (const FittedParameter& parameter : kParameters) profile.*parameter.cycles = parameter.start;
  for (const FittedParameter& parameter : chances) profile.*parameter.cycles = parameter.start;

  std::vector<CalibrationLaunch> ordered(launches.begin(), launches.end());
  const auto by_chance =
      std::stable_partition(ordered.begin(), ordered.end(), [&](const CalibrationLaunch& each) {
        return leaves_nothing_to_chance(each, limits, profile.sm_count);
      });
  fit(profile, kParameters, limits, {ordered.begin(), by_chance}, kCertainRuns);
  fit(profile, chances, limits, {by_chance, ordered.end()}, kRuns);
  if (!clocks_are_known) profile.gpc_clock_spread_ppm = kUnknownClocksPpm;
  return profile;
}

}  // namespace occbench
