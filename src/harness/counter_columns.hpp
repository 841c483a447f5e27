#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/counters.hpp"
#include "record/row.hpp"

namespace occbench {

/// The hardware counters behind the columns of a row, all of which fit one pass, so that they are of the same
/// launches; those of local memory where the kernel has some.
std::vector<std::string> metrics_for(const Row& row);

/// The hardware counters of columns that are read where a case asks for them. @pre there are such columns
std::vector<std::string> metrics_of(std::span<const std::string_view> column_names);

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
