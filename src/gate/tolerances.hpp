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

/// How far a quantity may get worse before that counts: by more than `limit`, and by more than `spreads`
/// times the larger of the two runs' interquartile ranges.
struct Tolerance {
  double limit = 0;    ///< in the quantity's unit; 0 to 1000
  double spreads = 0;  ///< 0 to 1000

  double allowed(double spread) const;
  bool operator==(const Tolerance&) const = default;
};

/// What the gate compares within a tolerance.
struct Quantity {
  std::string_view name;  ///< of the column where it is one
  std::string_view unit;  ///< of the tolerance and of differences
  bool higher_is_better;
  Tolerance tolerance;  ///< where nothing else is said
  std::function<Real(const Row&)> value;
  std::function<Real(const RecordedCase&)> spread;  ///< interquartile range over the readings, in `unit`
  /// What unchanged code may get worse by, in `unit`, from one row to another; empty = nothing more
  std::function<double(const Row& before, const Row& now)> of_unchanged_code = {};
  std::string_view like = "";  ///< quantity whose given tolerance is also that of this one, if that has none
};

/// An event pair agrees with the GPU's own duration counter to about this; smaller differences are the clock's.
inline constexpr double kTimerUs = 1;

/// Whether the times of a row scatter by more than that. They are not compared; its occupancy is.
bool is_unstable(const Row& row);

/// Quartiles of fewer times than this say little.
inline constexpr std::int64_t kFewestLaunches = 5;

/// As many pairs of runs as share their drift well enough for a tolerance of their own.
inline constexpr int kFewestPairs = 5;

/// Every column whose gate rule is `measured`, then achieved_over_theoretical_pct = 100 achieved / theoretical.
std::span<const Quantity> measured_quantities();

/// Times of single runs, and of at least kFewestPairs pairs of runs; differences in % of the baseline's median.
const Quantity& time_quantity();
const Quantity& paired_time_quantity();

/// nullptr if there is none of that name.
const Quantity* find_quantity(std::string_view name);

/// The tolerance of each quantity, by experiment where one was given.
class Tolerances {
 public:
  /// Experiments that have some of their own.
  std::set<std::string> experiments() const;

  /// That of an experiment, else that given for all, else the quantity's own; a given one of `like` is given.
  Tolerance of(std::string_view experiment, const Quantity& quantity) const;

  /// @param experiment empty = for all
  void set(std::string_view experiment, std::string_view quantity, Tolerance tolerance);

  /// Whether achieved occupancy that was sampled is compared with counted occupancy. They differ by up to a point or two.
  bool any_source = false;

  /// The GPU model whose runs they were derived from; empty = any.
  std::string gpu;

  /// Rows of those runs, without skipped ones, that they were not derived from: not measured, or of a wrong result.
  std::size_t left_out = 0;

  /// What was set, as parse_tolerances reads it.
  std::string to_json() const;

 private:
  std::map<std::pair<std::string, std::string>, Tolerance> given_;  ///< by experiment and quantity
};

/// Reads {"all": {QUANTITY: {"limit": 1.5, "spreads": 3}}, "experiments": {EXPERIMENT: {QUANTITY: {...}}}};
/// what is left out stays as it was. @throws InputError naming `source` and the value that cannot be.
Tolerances parse_tolerances(std::string_view json, std::string_view source);

/// From runs of one build on one GPU: for each experiment and quantity one and a half times the largest
/// difference between two of the runs in any case, and not less than the quantity can be read to. What they
/// do not measure keeps its default. @throws InputError for fewer than two runs, runs of several builds or GPUs, or runs
/// that share no case.
Tolerances tolerances_from(std::span<const RecordedRun> runs);

}  // namespace occbench
