#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record/case_record.hpp"
#include "record/columns.hpp"

// How hardware counters become columns, whoever read them.
namespace occbench {

/// Readings by the counter's name: a value for each counted launch, in order, so that the same place is the same
/// launch in all counters. NaN or infinite where a launch gave no value.
using ReadingsByCounter = std::map<std::string, std::vector<double>, std::less<>>;

/// The counters of columns that are read as often as `most`, or oftener, and what else these columns need.
std::vector<std::string> counters_read(CounterRead most);

/// A metric of a column, and what values under a name that `ncu` shows are to be multiplied by for it.
struct ScaledMetric {
  std::string_view metric;
  double scale = 1;
};
/// Sections of `ncu` show some counters under another name, and parts of pipes; any other name is the metric's own.
ScaledMetric metric_of(std::string_view name);

/// Readings that are numbers.
std::vector<double> numbers_of(std::span<const double> readings);

/// Puts in what the readings say, achieved_elapsed_pct and achieved_spread_points too; what they lack stays
/// as it is.
/// @param warp_slots  warps that all SMs together can hold; empty: not known
void set_counters(Readings& into, const ReadingsByCounter& readings, std::optional<double> warp_slots);

/// A note for each of `counters` of which there is no reading.
std::string note_on_missing(const ReadingsByCounter& readings, std::span<const std::string> counters);

/// A column beyond the table for each of `counters`: the median of its readings, empty if it has none.
std::vector<std::pair<std::string, std::string>> extra_columns(const ReadingsByCounter& readings,
                                                               std::span<const std::string> counters);

}  // namespace occbench
