#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

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
  std::string_view only_within = "";  ///< column of text: compared only where both sides say the same there
  std::string Row::*within = nullptr;
};

/// An event pair agrees with the GPU's own duration counter to about this; smaller differences are the clock's.
inline constexpr double kTimerUs = 1;

/// Quartiles of fewer times than this say little.
inline constexpr std::int64_t kFewestLaunches = 5;

/// As many pairs of runs as share their drift well enough for a tolerance of their own.
inline constexpr int kFewestPairs = 5;

/// Every column whose gate rule is `measured`, then what is derived from them:
/// achieved_over_theoretical_pct = 100 achieved / theoretical, and
/// prediction_error_points = |achieved - predicted|.
std::span<const Quantity> measured_quantities();

/// Times of single runs, and of at least kFewestPairs pairs of runs; differences in % of the baseline's median.
const Quantity& time_quantity();
const Quantity& paired_time_quantity();

/// nullptr if there is none of that name.
const Quantity* find_quantity(std::string_view name);

}  // namespace occbench
