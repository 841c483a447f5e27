#include "harness/counter_columns.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/core.h>

#include "record/columns.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

constexpr std::string_view kWarpsActive = "sm__warps_active.sum";
constexpr std::string_view kCyclesActiveMax = "sm__cycles_active.max";

std::span<const double> readings_of(const CounterReadings& readings, std::string_view metric) {
  const auto found = readings.find(metric);
  return found == readings.end() ? std::span<const double>() : std::span<const double>(found->second);
}

/// Warps active over the SM's maximum, over all SMs and the longest SM's active cycles, for each launch.
std::vector<double> elapsed_occupancy(const CounterReadings& readings, double warp_slots) {
  const std::span<const double> warps = readings_of(readings, kWarpsActive);
  const std::span<const double> cycles = readings_of(readings, kCyclesActiveMax);
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(warps.size(), cycles.size()); ++i) {
    values.push_back(100 * warps[i] / (warp_slots * cycles[i]));
  }
  return numbers_of(values);
}

/// Those of local memory come from a unit that makes a session slower, and a kernel that has no local memory
/// has no such traffic; those of pipes are read where asked for.
bool is_read_always(const Column& column, const Row& row) {
  if (column.metric.empty() || column.name.ends_with("_pipe_pct")) return false;
  return !column.name.starts_with("local_") || row.local_bytes_per_thread != 0;
}

}  // namespace

std::vector<std::string> metrics_for(const Row& row) {
  std::vector<std::string> metrics = {std::string(kWarpsActive)};
  for (const Column& column : columns()) {
    if (is_read_always(column, row)) metrics.emplace_back(column.metric);
  }
  return metrics;
}

std::vector<std::string> metrics_of(std::span<const std::string_view> column_names) {
  std::vector<std::string> metrics;
  for (const std::string_view name : column_names) metrics.emplace_back(find_column(name)->metric);
  return metrics;
}

std::vector<double> numbers_of(std::span<const double> readings) {
  std::vector<double> numbers;
  std::ranges::copy_if(readings, std::back_inserter(numbers),
                       [](double value) { return std::isfinite(value); });
  return numbers;
}

void set_counter_columns(Row& row, const CounterReadings& readings, std::span<const std::string> metrics,
                         int max_warps_per_sm) {
  for (const Column& column : columns()) {
    if (column.metric.empty()) continue;
    const std::vector<double> values = numbers_of(readings_of(readings, column.metric));
    if (!values.empty()) row.*std::get<Real Row::*>(column.where) = column.scale * median(values);
  }
  for (const std::string& metric : metrics) {
    if (!numbers_of(readings_of(readings, metric)).empty()) continue;
    row.note += fmt::format("{}this GPU gave no value of {}", row.note.empty() ? "" : "; ", metric);
  }
  const std::vector<double> achieved = numbers_of(readings_of(readings, find_column("achieved_pct")->metric));
  if (!achieved.empty()) {
    row.achieved_spread_points = quartiles(achieved).range();
    row.achieved_source = "counter";
  }
  const double warp_slots = static_cast<double>(row.sm_count.value_or(0)) * max_warps_per_sm;
  const std::vector<double> elapsed = elapsed_occupancy(readings, warp_slots);
  if (!elapsed.empty()) row.achieved_elapsed_pct = median(elapsed);
}

void set_extra_columns(Row& row, const CounterReadings& readings, std::span<const std::string> metrics) {
  for (const std::string& metric : metrics) {
    const std::vector<double> values = numbers_of(readings_of(readings, metric));
    row.extra.emplace_back(metric, values.empty() ? "" : fmt::format("{}", median(values)));
  }
}

std::vector<Sample> counter_samples(const Row& row, const CounterReadings& readings) {
  std::vector<Sample> samples;
  for (const auto& [metric, values] : readings) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      samples.push_back({row.experiment, row.case_, metric, static_cast<std::int64_t>(i), values[i]});
    }
  }
  return samples;
}

}  // namespace occbench
