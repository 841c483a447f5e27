#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record/case_record.hpp"
#include "record/columns.hpp"

// Converts hardware counters to columns, whichever program read them.
namespace occbench {

/// Readings by counter name: one value per counted launch, in order, so that an index is the same launch in all
/// counters. NaN or infinite if a launch gave no value.
using ReadingsByCounter = std::map<std::string, std::vector<double>, std::less<>>;

/// Counters of columns that are read at least as often as `most`, and others that these columns need.
std::vector<std::string> counters_read(CounterRead most);

/// A column's metric, and the factor for values under the name that `ncu` shows.
struct ScaledMetric {
  std::string_view metric;
  double scale = 1;
};
/// Sections of `ncu` show some counters, and parts of pipes, under another name. Any other name is the metric's own.
ScaledMetric metric_of(std::string_view name);

/// The finite readings.
std::vector<double> numbers_of(std::span<const double> readings);

/// Sets the columns that the readings give, achieved_elapsed_pct and achieved_spread_points too. Others keep their
/// values, except hardware_limiters, which is always set.
/// @param warp_slots  warps that all SMs together can hold; empty: not known
void set_counters(Readings& into, const ReadingsByCounter& readings, std::optional<double> warp_slots);

/// A note for each of `counters` without a reading.
std::string note_on_missing(const ReadingsByCounter& readings, std::span<const std::string> counters);

/// A column beyond the table for each of `counters`: the median of its readings, empty if it has none.
std::vector<std::pair<std::string, std::string>> extra_columns(const ReadingsByCounter& readings,
                                                               std::span<const std::string> counters);

}  // namespace occbench
