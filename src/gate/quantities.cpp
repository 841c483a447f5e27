#include "gate/quantities.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "record/simulated.hpp"
#include "record/columns.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

// Medians of 8 readings of unchanged code on an H200 differed from run to run by 0.1 points at the median
// case. Three interquartile ranges of the readings are more than six standard deviations of the difference of
// two such medians of normal readings (1.25 x sqrt(2/8) x range / 1.349 each). Where which SMs are left with
// the last blocks is chance, achieved_pct differs from run to run by more than its readings scatter in one:
// what judge() does about it needs no wider tolerance here. Recorded on two H200s, achieved_pct of 491 cases
// differed by up to 13 points, achieved_elapsed_pct by up to 0.3, and by 0.9 in a case whose readings spread
// by 1.8.
constexpr Tolerance kAchieved{1.0, 3};
// A launch that waits for nothing outside its SM read the same on all recorded GPUs of a model, within 0.7 points of
// achieved_elapsed_pct. How far SMs are from each other, from L2 and from memory differs, so that a barrier of clusters
// differed by up to 1.8 points and a reduction by 1.4; adds of many threads, which wait for a slice of L2, by 4.6. The margin
// is that of tolerances from runs.
constexpr double kOtherGpuPoints = 2.7;
constexpr double kOtherGpuPointsOfAtomics = 6.9;
// A point of achieved is more than a point of a ratio whose denominator is below 100 %.
constexpr Tolerance kRatio{2.0, 3};
constexpr Tolerance kPredictionError{1.0, 3};
// Times drift between runs (clocks, temperature, where memory lies) by more than they scatter within one. In 25,000
// comparisons of two runs of one build on one GPU within an hour, a median beyond the next two limits never was more than
// 2.2 interquartile ranges off, or 1.8 % where launches have no atomics.
constexpr Tolerance kTime{2.5, 3};
// Which slice of L2 an address belongs to differs from process to process: 2.3 %.
constexpr double kTimeOfAtomicsPct = 3.5;
// Runs that alternate share the drift.
constexpr Tolerance kPairedTime{1.5, 3};

Real achieved_spread(const RecordedCase& recorded) {
  return recorded.row.achieved_spread_points;
}

/// Rows without their samples know that of achieved_pct alone, which scatters alike.
Real elapsed_spread(const RecordedCase& recorded) {
  return recorded.achieved_elapsed_spread_points ? recorded.achieved_elapsed_spread_points
                                                 : achieved_spread(recorded);
}

bool has_atomics(const Row& row) {
  return row.atomic_requests.value_or(0) > 0 || expects_atomics(row.expected_cause);
}

double elapsed_between_gpus(const Row& before, const Row& now) {
  if (before.gpu_uuid == now.gpu_uuid || is_bound_by_sm(before.work, before.spill_bytes.value_or(0) > 0))
    return 0;
  return has_atomics(before) ? kOtherGpuPointsOfAtomics : kOtherGpuPoints;
}

double least_of_time(const Row& before) {
  return before.time_us.value_or(0) > 0 ? 100 * kTimerUs / *before.time_us : 0;
}

double time_between_processes(const Row& before, const Row&) {
  return std::max(least_of_time(before), has_atomics(before) ? kTimeOfAtomicsPct : 0);
}

Quantity of_column(const Column& column) {
  const bool elapsed = column.name == "achieved_elapsed_pct";
  const auto member = std::get<Real Row::*>(column.where);
  return {column.name,
          column.unit == "%" ? "points" : column.unit,
          true,
          kAchieved,
          [member](const Row& row) { return row.*member; },
          elapsed ? elapsed_spread : achieved_spread,
          elapsed ? elapsed_between_gpus : std::function<double(const Row&, const Row&)>()};
}

Real ratio(const Row& row, Real part) {
  return part && row.theoretical_pct && *row.theoretical_pct > 0 ? Real(100 * *part / *row.theoretical_pct)
                                                                 : Real();
}

std::vector<Quantity> make_measured_quantities() {
  std::vector<Quantity> all;
  for (const Column& column : columns()) {
    if (column.gate == GateRule::measured) all.push_back(of_column(column));
  }
  all.push_back({"achieved_over_theoretical_pct", "points", true, kRatio,
                 [](const Row& row) { return ratio(row, row.achieved_pct); },
                 [](const RecordedCase& recorded) {
                   return ratio(recorded.row, recorded.row.achieved_spread_points);
                 }});
  all.push_back({"prediction_error_points",
                 "points",
                 false,
                 kPredictionError,
                 [](const Row& row) {
                   // With inferred work it says how good the inference is, not what the launch does.
                   const bool comparable = !is_inferred_work(row.work_source);
                   return comparable && row.achieved_pct && row.predicted_pct
                              ? Real(std::abs(*row.achieved_pct - *row.predicted_pct))
                              : Real();
                 },
                 achieved_spread,
                 {},
                 "device_profile",
                 &Row::device_profile});
  return all;
}

Quantity of_time(std::string_view name, Tolerance tolerance,
                 std::function<double(const Row&, const Row&)> of_unchanged_code) {
  return {name,
          "%",
          false,
          tolerance,
          [](const Row& row) { return row.time_us; },
          [](const RecordedCase& recorded) { return recorded.row.time_spread_pct; },
          std::move(of_unchanged_code)};
}

}  // namespace

double Tolerance::allowed(double spread) const {
  return std::max(limit, spreads * spread);
}

std::span<const Quantity> measured_quantities() {
  static const std::vector<Quantity> kAll = make_measured_quantities();
  return kAll;
}

const Quantity& time_quantity() {
  static const Quantity kQuantity = of_time("time_us", kTime, time_between_processes);
  return kQuantity;
}

const Quantity& paired_time_quantity() {
  static const Quantity kQuantity = of_time(
      "paired_time_us", kPairedTime, [](const Row& before, const Row&) { return least_of_time(before); });
  return kQuantity;
}

const Quantity* find_quantity(std::string_view name) {
  for (const Quantity* time : {&time_quantity(), &paired_time_quantity()}) {
    if (time->name == name) return time;
  }
  const auto found = std::ranges::find(measured_quantities(), name, &Quantity::name);
  return found == measured_quantities().end() ? nullptr : &*found;
}

}  // namespace occbench
