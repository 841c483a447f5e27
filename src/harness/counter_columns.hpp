#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/counters.hpp"
#include "record/row.hpp"

namespace occbench {

/// The hardware counters behind the columns of a row: those of local memory where the kernel has some, those
/// of pipes where the case asks for them.
/// @param asked_for names of columns, as Case::counters
std::vector<std::string> metrics_for(const Row& row, std::span<const std::string_view> asked_for = {});

/// Readings that are numbers.
std::vector<double> numbers_of(std::span<const double> readings);

/// Fills the columns that counters fill, achieved_elapsed_pct and achieved_spread_points among them; what the
/// readings lack stays empty, and `note` says so.
/// @param metrics that were asked for
void set_counter_columns(Row& row, const CounterReadings& readings, std::span<const std::string> metrics,
                         int max_warps_per_sm);

/// A column beyond the table for each of `metrics`: the median of its readings, empty if it has none.
void set_extra_columns(Row& row, const CounterReadings& readings, std::span<const std::string> metrics);

/// Every reading that is a number, under its metric's name; the index is the launch's.
std::vector<Sample> counter_samples(const Row& row, const CounterReadings& readings);

}  // namespace occbench
