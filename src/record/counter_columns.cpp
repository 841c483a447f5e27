#include "record/counter_columns.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/core.h>

#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

constexpr std::string_view kWarpsActive = "sm__warps_active.sum";
constexpr std::string_view kCyclesActiveMax = "sm__cycles_active.max";

/// Allocations that can stall the launch of a waiting block.
constexpr std::pair<Limiter, std::string_view> kAllocations[] = {{Limiter::registers, "register"},
                                                                 {Limiter::shared_memory, "shmem"},
                                                                 {Limiter::blocks, "cta"},
                                                                 {Limiter::barriers, "barrier"}};

std::string stall_counter(std::string_view allocation) {
  return fmt::format("tpc__warp_launch_cycles_stalled_shader_cs_reason_{}_allocation.sum", allocation);
}

std::span<const double> readings_of(const ReadingsByCounter& readings, std::string_view metric) {
  const auto found = readings.find(metric);
  return found == readings.end() ? std::span<const double>() : std::span<const double>(found->second);
}

/// Values of a counter, or sums per reading of several joined by +. Empty if one of them has no readings.
std::vector<double> sums_of(const ReadingsByCounter& readings, std::string_view metrics) {
  std::vector<double> sums;
  for (const std::string_view metric : split(metrics, '+')) {
    const std::span<const double> values = readings_of(readings, metric);
    if (values.empty()) return {};
    if (sums.empty()) sums.assign(values.size(), 0);
    sums.resize(std::min(sums.size(), values.size()));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  return numbers_of(sums);
}

/// Median cycles, summed over TPCs, for which the allocation stalled block launches; empty if not read.
std::optional<double> stalled_cycles(const ReadingsByCounter& readings, std::string_view allocation) {
  const std::vector<double> cycles = numbers_of(readings_of(readings, stall_counter(allocation)));
  return cycles.empty() ? std::nullopt : std::optional(median(cycles));
}

/// Active warps over the SM's maximum, over all SMs and the longest SM's active cycles, per launch.
std::vector<double> elapsed_occupancy(const ReadingsByCounter& readings, double warp_slots) {
  const std::span<const double> warps = readings_of(readings, kWarpsActive);
  const std::span<const double> cycles = readings_of(readings, kCyclesActiveMax);
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(warps.size(), cycles.size()); ++i) {
    values.push_back(100 * warps[i] / (warp_slots * cycles[i]));
  }
  return numbers_of(values);
}

/// Names in sections of ncu.
constexpr std::pair<std::string_view, ScaledMetric> kNcuNames[] = {
    {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
     {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"smsp__issue_active.avg.per_cycle_active", {"smsp__issue_active.avg.pct_of_peak_sustained_active", 100}},
    {"l1tex__throughput.avg.pct_of_peak_sustained_active",
     {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active"}},
    {"lts__throughput.avg.pct_of_peak_sustained_elapsed",
     {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed"}}};

}  // namespace

ScaledMetric metric_of(std::string_view name) {
  for (const auto& [shown, metric] : kNcuNames) {
    if (shown == name) return metric;
  }
  // A part of a pipe's work, as of pipe_tensor_op_hmma, counts as use of the pipe. pipe_fmaheavy is a separate pipe.
  for (const std::string_view family : {"sm__inst_executed_pipe_", "sm__pipe_"}) {
    if (!name.starts_with(family) || !name.ends_with(".avg.pct_of_peak_sustained_active")) continue;
    for (const Unit& unit : units()) {
      if (unit.kind != UnitKind::pipe || !name.substr(family.size()).starts_with(unit.key)) continue;
      const char behind = name[family.size() + unit.key.size()];
      if (behind == '.' || behind == '_') return {unit.counter.metric};
    }
  }
  return {name};
}

std::vector<std::string> counters_read(CounterRead most) {
  std::vector<std::string> counters = {std::string(kWarpsActive)};
  for (const NamedCounter& each : named_counters()) {
    if (each.counter.read > most) continue;
    for (const std::string_view metric : split(each.counter.metric, '+')) counters.emplace_back(metric);
  }
  if (most == CounterRead::full_suite) {
    for (const auto& [limiter, allocation] : kAllocations) counters.push_back(stall_counter(allocation));
  }
  return counters;
}

std::vector<double> numbers_of(std::span<const double> readings) {
  std::vector<double> numbers;
  std::ranges::copy_if(readings, std::back_inserter(numbers),
                       [](double value) { return std::isfinite(value); });
  return numbers;
}

void set_counters(Readings& into, const ReadingsByCounter& readings, std::optional<double> warp_slots) {
  for (const auto& [name, unit, counter] : named_counters()) {
    const std::vector<double> values = sums_of(readings, counter.metric);
    if (!values.empty()) into.counters.*counter.value = counter.scale * median(values);
  }
  const std::vector<double> achieved =
      numbers_of(readings_of(readings, find_column("achieved_pct")->counter.value().metric));
  if (!achieved.empty()) {
    into.achieved_spread_points = quartiles(achieved).range();
    into.achieved_source = AchievedSource::counter;
  }
  into.hardware_limiters = hardware_limiters_of(mapped(kAllocations, [&](const auto& each) {
    return std::pair(each.first, stalled_cycles(readings, each.second));
  }));
  if (!warp_slots) return;
  const std::vector<double> elapsed = elapsed_occupancy(readings, *warp_slots);
  if (!elapsed.empty()) into.achieved_elapsed_pct = median(elapsed);
}

std::string note_on_missing(const ReadingsByCounter& readings, std::span<const std::string> counters) {
  std::string note;
  for (const std::string& metric : counters) {
    if (numbers_of(readings_of(readings, metric)).empty())
      add_note(note, fmt::format("this GPU gave no value of {}", metric));
  }
  return note;
}

std::vector<std::pair<std::string, std::string>> extra_columns(const ReadingsByCounter& readings,
                                                               std::span<const std::string> counters) {
  std::vector<std::pair<std::string, std::string>> columns;
  for (const std::string& metric : counters) {
    const std::vector<double> values = numbers_of(readings_of(readings, metric));
    columns.emplace_back(metric, values.empty() ? "" : fmt::format("{}", median(values)));
  }
  return columns;
}

}  // namespace occbench
