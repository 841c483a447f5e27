#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "gate/quantities.hpp"
#include "gate/run.hpp"

namespace occbench {

/// The tolerance of each quantity, by experiment where one was given.
class Tolerances {
 public:
  /// Experiments that have some of their own.
  std::vector<std::string> experiments() const;

  /// Those of an experiment, else those given for all, else the quantity's own.
  Tolerance of(std::string_view experiment, const Quantity& quantity) const;

  /// @param experiment empty = for all
  void set(std::string_view experiment, std::string_view quantity, Tolerance tolerance);

  /// Whether achieved occupancy that was sampled is compared with counted occupancy. They differ by up to a point or two.
  bool any_source = false;

  /// What was set, as parse_tolerances reads it.
  std::string to_json() const;

 private:
  using ByQuantity = std::map<std::string, Tolerance, std::less<>>;
  std::map<std::string, ByQuantity, std::less<>> given_;
};

/// Reads {"all": {QUANTITY: {"limit": 1.5, "spreads": 3}}, "experiments": {EXPERIMENT: {QUANTITY: {...}}}};
/// what is left out stays as it was. @throws InputError naming `source` and the value that cannot be.
Tolerances parse_tolerances(std::string_view json, std::string_view source);

/// From runs of one build on one machine: for each experiment and quantity one and a half times the largest
/// difference between two of the runs in any case, and not less than the quantity can be read to. What they
/// do not measure keeps its default. @throws InputError for fewer than two runs, or runs that share no case.
Tolerances tolerances_from(std::span<const RecordedRun> runs);

}  // namespace occbench
