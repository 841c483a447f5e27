#include "predict/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "occupancy/text.hpp"
#include "predict/interval_margins.hpp"
#include "predict/parameters.hpp"
#include "predict/prediction.hpp"
#include "simulate/block_execution.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

struct KindText {
  WorkKind kind;
  std::string_view name;
  std::string_view description;
  std::string_view why_wide;  ///< on a GPU with a profile of its own
};

// clang-format off
constexpr std::array<KindText, kWorkKinds> kKinds{{
    {WorkKind::even_waves, "even_waves", "equal blocks without a partial last wave",
     "blocks are so short that overheads decide: give longer ones"},
    {WorkKind::partial_last_wave, "partial_last_wave", "equal blocks with a partial last wave",
     "a few hundred cycles decide which SMs get the last blocks: use whole waves"},
    {WorkKind::partial_last_wave_short, "partial_last_wave_short", "short equal blocks with a partial last wave",
     "overheads decide which SMs get the last blocks: use whole waves or longer blocks"},
    {WorkKind::uneven_blocks, "uneven_blocks", "uneven blocks",
     "where the last blocks fall is chance: use more blocks"},
    {WorkKind::uneven_warps, "uneven_warps", "uneven warps within a block",
     "where the last warps fall is chance: use more blocks"},
    {WorkKind::clusters, "clusters", "clusters", "the placement of clusters is simulated roughly"},
    {WorkKind::issue_or_pipe_bound, "issue_or_pipe_bound", "issue-bound or pipe-bound",
     "contention for issue slots is simulated roughly"},
    {WorkKind::always_issuing, "always_issuing", "always issuing without a reading",
     "for how long warps stay in lockstep is not known: give :lockstep=N in the work"},
    {WorkKind::always_issuing_known, "always_issuing_known", "always issuing with a reading",
     "streams of warps that always issue are simulated roughly"},
    {WorkKind::memory_bound, "memory_bound", "memory-bound",
     "how warps share bandwidth and L1 is simulated roughly"},
    {WorkKind::local_memory, "local_memory", "local memory",
     "what spills cost is not simulated"},
    {WorkKind::inferred_one_block, "inferred_one_block", "inferred: at most one block per SM",
     "warps are taken as equal: predict --work takes others"},
    {WorkKind::inferred_one_wave, "inferred_one_wave", "inferred: at most one wave",
     "blocks are taken as equal: predict --work takes others"},
    {WorkKind::inferred_more_waves, "inferred_more_waves", "inferred: more than one wave",
     "blocks are taken as equal: predict --work takes others"},
}};
// clang-format on

/// With so many waves, the last takes at most a thousandth of the time.
constexpr std::int64_t kManyWaves = 1000;

const KindText& text_of(WorkKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

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

constexpr Interval kNoInterval{100, 0};
constexpr Intervals kNothing{kNoInterval, kNoInterval};

Interval with(const Interval& interval, double pct) {
  return {std::min(interval.low, pct), std::max(interval.high, pct)};
}

Intervals with(const Intervals& range, const Simulation& simulation) {
  return {with(range.achieved, simulation.achieved_pct), with(range.elapsed, simulation.elapsed_pct)};
}

Interval interval_of(const RunRange& simulations, const Margin& margin, double block_cycles,
                     double most_pct) {
  const double overhead = kOverheadErrorCycles / std::max(1.0, block_cycles);
  const auto points = [&](double share) {
    return std::max(kLeastMarginPoints, (share + overhead) * simulations.middle);
  };
  const double low = simulations.low - points(margin.below);
  const double high = simulations.high + points(margin.above);
  // The interval includes all simulations, also if rounding puts one above theory.
  return {std::clamp(low, 0.0, simulations.low),
          std::clamp(high, simulations.high, std::max(most_pct, simulations.high))};
}

/// Rough time for the range of a generic profile on one core, unless two simulations take longer.
constexpr double kRangeMicroseconds = 25'000;

/// Range of a launch's occupancy as the profile's parameters go to both ends of their ranges (parameters.hpp;
/// the GPU's for bandwidth): all at once, then one after another. Parameters that do not affect the launch
/// are left out, and for large grids those later in the table. Takes kRangeMicroseconds, or two simulations.
Intervals parameter_range(const Asked& asked, const Tasks& tasks) {
  const ChosenProfile& chosen = asked.chosen;
  const std::uint64_t seed = Seeds(asked.chance, chosen.profile).of_run(0);
  Intervals range = kNothing;
  const auto try_with = [&](const DeviceParameters& parameters) {
    DeviceModel model = chosen.profile.model;
    model.parameters = parameters;
    const Simulation simulation = simulate(asked.launch, asked.usage, asked.limits, model, tasks, seed);
    range = with(range, simulation);
  };
  const Occupancy occupancy = theoretical_occupancy(asked.limits, asked.launch, asked.usage);
  const std::vector<Ends> all =
      ends_that_matter(tasks, full_wave_blocks(occupancy, chosen.profile.sm_count()), chosen);
  const DeviceParameters& middle = chosen.profile.model.parameters;
  for (const auto end : {&Ends::low, &Ends::high}) {
    DeviceParameters parameters = middle;
    for (const Ends& each : all) parameters.*each.value = each.*end;
    try_with(parameters);
  }
  double left = kRangeMicroseconds;
  const double pair = 2 * simulation_microseconds(asked.limits, tasks);
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

}  // namespace

std::string_view to_string(WorkKind kind) {
  return text_of(kind).name;
}

std::string_view description_of(WorkKind kind) {
  return text_of(kind).description;
}

WorkKind kind_of(const Launch& launch, const Usage& usage, const Occupancy& occupancy, int sm_count,
                 const Tasks& tasks, WorkOrigin origin) {
  const std::int64_t wave = full_wave_blocks(occupancy, sm_count);
  if (origin == WorkOrigin::inferred) {
    if (launch.grid_blocks <= sm_count) return WorkKind::inferred_one_block;
    return launch.grid_blocks <= wave ? WorkKind::inferred_one_wave : WorkKind::inferred_more_waves;
  }
  const Rates rates = tasks.rates();
  if (usage.local_bytes_per_thread > 0) return WorkKind::local_memory;
  if (launch.cluster_blocks > 1) return WorkKind::clusters;
  if (rates.bytes > 0) return WorkKind::memory_bound;
  if (rates.always_issues(typical_parameters().always_issuing_share))
    return tasks.lockstep_cycles() ? WorkKind::always_issuing_known : WorkKind::always_issuing;
  if (tasks.contends()) return WorkKind::issue_or_pipe_bound;
  if (tasks.differ_within_blocks()) return WorkKind::uneven_warps;
  // Blocks that differ by less than overheads count as equal.
  if (tasks.spread_cycles() > kOverheadErrorCycles) return WorkKind::uneven_blocks;
  const bool even = launch.grid_blocks <= wave ||
                    (wave > 0 && (launch.grid_blocks % wave == 0 || launch.grid_blocks >= kManyWaves * wave));
  if (even) return WorkKind::even_waves;
  return tasks.mean_cycles() < kShortBlockCycles ? WorkKind::partial_last_wave_short
                                                 : WorkKind::partial_last_wave;
}

const KindMargins& margins_of(WorkKind kind) {
  static_assert(std::size(kMargins) == kWorkKinds);
  return std::ranges::find(kMargins, kind, &std::pair<WorkKind, KindMargins>::first)->second;
}

Intervals intervals_of(const RunRanges& simulations, const KindMargins& margins, double block_cycles,
                       double most_pct) {
  Intervals intervals{interval_of(simulations.achieved, margins.achieved, block_cycles, most_pct),
                      interval_of(simulations.elapsed, margins.elapsed, block_cycles, most_pct)};
  intervals.achieved.low =
      std::clamp(intervals.elapsed.low, intervals.achieved.low, simulations.achieved.low);
  intervals.elapsed.high =
      std::clamp(intervals.achieved.high, simulations.elapsed.high, intervals.elapsed.high);
  return intervals;
}

double most_pct(const Launch& launch, const Limits& limits, const Occupancy& occupancy, int sm_count,
                const Tasks& tasks) {
  if (launch.cluster_blocks == 1 && launch.grid_blocks <= full_wave_blocks(occupancy, sm_count)) {
    const auto of_fullest = static_cast<double>((launch.grid_blocks + sm_count - 1) / sm_count);
    return occupancy.theoretical_pct * of_fullest / occupancy.blocks_per_sm;
  }
  if (!tasks.contends() && !tasks.differ_within_blocks()) return occupancy.theoretical_pct;
  return 100.0 * most_warps(limits, occupancy) / limits.max_warps_per_sm;
}

std::string_view why_wide(WorkKind kind, ProfileQuality quality) {
  if (kind >= WorkKind::inferred_one_block) return text_of(kind).why_wide;
  if (quality == ProfileQuality::generic) return "no such GPU was measured: calibrate one";
  const bool on_clocks = kind == WorkKind::partial_last_wave || kind == WorkKind::uneven_blocks;
  if (quality == ProfileQuality::calibrated_model && on_clocks)
    return "a partial wave depends on the clocks of this GPU, which change";
  return text_of(kind).why_wide;
}

std::string to_string(const Interval& interval) {
  constexpr double kRounding = 1e-9;  // for values that already have so few digits
  const int digits = interval.width() > 10 ? 0 : 1;
  const double factor = digits == 0 ? 1 : 10;
  return fmt::format("{:.{}f} to {:.{}f}", std::floor(factor * interval.low + kRounding) / factor, digits,
                     std::ceil(factor * interval.high - kRounding) / factor, digits);
}

std::string named(const Interval& interval, ProfileQuality quality) {
  return fmt::format("{}: {}", quality == ProfileQuality::generic ? "range" : "90 %", to_string(interval));
}

std::string interval_text(const Interval& interval, WorkKind kind, ProfileQuality quality) {
  std::string text = named(interval, quality);
  if (interval.width() < kWideIntervalPoints && quality == ProfileQuality::generic)
    return text + "; no such GPU was measured: calibrate one";
  if (interval.width() >= kWideIntervalPoints) text += fmt::format("; {}", why_wide(kind, quality));
  return text;
}

double simulation_microseconds(const Limits& limits, const Tasks& tasks) {
  const auto blocks = static_cast<double>(tasks.grid_blocks());
  const double warps = blocks * tasks.warps_per_block();
  if (tasks.contends()) return 0.6 * warps;
  const bool by_warp = tasks.differ_within_blocks() || tasks.warps_per_block() % limits.sub_partitions != 0;
  if (by_warp) return 0.35 * blocks + 0.06 * warps;
  return 0.15 * blocks;
}

std::optional<Intervals> range_of_unknowns(const Asked& asked, const Tasks& tasks) {
  const ChosenProfile& chosen = asked.chosen;
  if (chosen.quality == ProfileQuality::generic) return parameter_range(asked, tasks);
  if (chosen.quality != ProfileQuality::calibrated_device) return std::nullopt;
  constexpr int kCloser = 2;
  constexpr std::int64_t kMostRuns = 3;
  DeviceModel closer = chosen.profile.model;
  for (int& ppm : closer.gpc_clock_ppm) ppm /= kCloser;
  const Seeds seeds(asked.chance, chosen.profile);
  Intervals range = kNothing;
  for (std::int64_t run = 0; run < std::min(kMostRuns, runs_of(tasks, asked.chance)); ++run)
    range = with(range, simulate(asked.launch, asked.usage, asked.limits, closer, tasks,
                                 seeds.of_run(static_cast<std::uint64_t>(run))));
  return range;
}

void widen(RunRanges& simulations, const Intervals& range) {
  const auto include = [](RunRange& runs, const Interval& interval) {
    runs.low = std::min(runs.low, interval.low);
    runs.high = std::max(runs.high, interval.high);
  };
  include(simulations.achieved, range.achieved);
  include(simulations.elapsed, range.elapsed);
}

}  // namespace occbench
