#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/counters.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// The hardware counters that are read of a kernel, all of which fit one pass, so that they are of the same
/// launches: those of local memory only where it has some.
/// @param compiled  empty: it is not known whether it has
std::vector<std::string> metrics_for(const std::optional<Compiled>& compiled);

/// The hardware counters of a case of the full suite, whatever its kernel, so that all cases are read with one
/// configuration of the counters. They need several passes, those of different passes being of different
/// launches.
std::vector<std::string> metrics_of_full_suite();

/// The hardware counters of columns that are read where a case asks for them. @pre counters fill these
/// columns
std::vector<std::string> metrics_of(std::span<const std::string_view> column_names);

/// Readings that are numbers.
std::vector<double> numbers_of(std::span<const double> readings);

/// Puts in what the readings say, achieved_elapsed_pct and achieved_spread_points too; what they lack stays
/// as it is.
/// @param warp_slots  warps that all SMs together can hold
void set_counters(Readings& into, const CounterReadings& readings, double warp_slots);

/// A note for each of `metrics` of which there is no reading.
std::string note_on_missing(const CounterReadings& readings, std::span<const std::string> metrics);

/// A column beyond the table for each of `metrics`: the median of its readings, empty if it has none.
std::vector<std::pair<std::string, std::string>> extra_columns(const CounterReadings& readings,
                                                               std::span<const std::string> metrics);

}  // namespace occbench
