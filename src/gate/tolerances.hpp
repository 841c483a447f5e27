#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gate/run.hpp"

namespace occbench {

/// A loss counts if it is more than `limit`, and more than `spreads` times the larger of the two runs' interquartile
/// ranges.
struct Tolerance {
  double limit = 0;    ///< in the quantity's unit; 0 to 1000
  double spreads = 0;  ///< 0 to 1000

  double allowed(double spread) const;
  bool operator==(const Tolerance&) const = default;
};

/// A quantity that the gate compares within a tolerance.
struct Quantity {
  std::string_view name;  ///< of the column if it is one
  std::string_view unit;  ///< of the tolerance and of differences
  bool higher_is_better;
  Tolerance tolerance;  ///< the default
  std::function<Real(const Row&)> value;
  std::function<Real(const RecordedCase&)> spread;  ///< interquartile range over the readings, in `unit`
  /// Possible loss of unchanged code from one row to another, in `unit`; empty = none
  std::function<double(const Row& before, const Row& now)> of_unchanged_code = {};
  std::string_view like = "";  ///< if this quantity has no given tolerance, it has that of this other one
};

/// An event pair agrees with the GPU's own duration counter to about this; smaller differences are the clock's.
inline constexpr double kTimerUs = 1;

/// Whether the times of a row scatter by more than that. Then they are not compared; its occupancy is.
bool is_unstable(const Row& row);

/// Quartiles of fewer times than this are unreliable.
inline constexpr std::int64_t kFewestLaunches = 5;

/// From this number of pairs on, runs share their drift well enough for a tolerance of their own.
inline constexpr int kFewestPairs = 5;

/// Every column whose gate rule is `measured`, then achieved_over_theoretical_pct = 100 achieved / theoretical.
std::span<const Quantity> measured_quantities();

/// Times of single runs, and of at least kFewestPairs pairs of runs; differences in % of the baseline's median.
const Quantity& time_quantity();
const Quantity& paired_time_quantity();

/// nullptr if there is none of that name.
const Quantity* find_quantity(std::string_view name);

/// The tolerance of each quantity, by experiment if one was given.
class Tolerances {
 public:
  /// Experiments with tolerances of their own.
  std::set<std::string> experiments() const;

  /// The tolerance for the experiment, else the one given for all, else the quantity's own; a given one of `like` is
  /// given.
  Tolerance of(std::string_view experiment, const Quantity& quantity) const;

  /// @param experiment empty = for all
  void set(std::string_view experiment, std::string_view quantity, Tolerance tolerance);

  /// Whether sampled achieved occupancy is compared with counted occupancy. They differ by up to a point or two.
  bool any_source = false;

  /// The GPU model whose runs they were derived from; empty = any.
  std::string gpu;

  /// Rows of those runs, without skipped ones, that were not used: not measured, or with a wrong result.
  std::size_t left_out = 0;

  /// The given tolerances, as parse_tolerances reads them.
  std::string to_json() const;

 private:
  std::map<std::pair<std::string, std::string>, Tolerance> given_;  ///< by experiment and quantity
};

/// Reads {"all": {QUANTITY: {"limit": 1.5, "spreads": 3}}, "experiments": {EXPERIMENT: {QUANTITY: {...}}}}; anything
/// left out stays unchanged. @throws InputError naming `source` and the invalid value.
Tolerances parse_tolerances(std::string_view json, std::string_view source);

/// Derives tolerances from runs of one build on one GPU. For each experiment and quantity it is one and a half times
/// the largest difference between two of the runs in any case, and at least the quantity's resolution. Quantities
/// that the runs do not measure keep their defaults. @throws InputError for fewer than two runs, runs of several
/// builds or GPUs, or runs that share no case.
Tolerances tolerances_from(std::span<const RecordedRun> runs);

}  // namespace occbench
