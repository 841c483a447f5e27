#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "occupancy/configuration.hpp"

namespace occbench {

/// A change of one value of a configuration.
struct Change {
  Axis axis;
  std::int64_t from;
  std::int64_t to;

  bool operator==(const Change&) const = default;
};

/// A change and the occupancy that it leads to.
struct Step {
  Change change;
  int blocks_per_sm;
  double theoretical_pct;
};

/// The nearest steps of occupancy along one axis, all else unchanged.
struct Cliffs {
  Axis axis;
  std::optional<Step> down;  ///< the smallest change that lowers occupancy
  std::optional<Step> up;    ///< the smallest change that raises it; block sizes of whole warps only
};

/// What the smallest change does on every axis that can change occupancy at all.
std::vector<Cliffs> cliffs(const Limits& limits, const Configuration& configuration);

/// Two changes that raise occupancy together.
struct PairOfChanges {
  Change first;
  Change second;
  int blocks_per_sm;
  double theoretical_pct;
};

/// How much a change alters its value: |to - from| / max(to, from), the default carveout counting as 100 %.
double cost_of(const Change& change);

/// The pair with the least sum of costs, of those the one with most occupancy; for configurations that no
/// single change helps. Empty where occupancy is full or out of reach of two changes.
std::optional<PairOfChanges> cheapest_pair(const Limits& limits, const Configuration& configuration);

/// "40 registers per thread instead of 44", "29 % as the carveout instead of the default"
std::string to_string(const Change& change);

}  // namespace occbench
