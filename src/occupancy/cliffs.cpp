#include "occupancy/cliffs.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/core.h>

namespace occbench {
namespace {

std::int64_t as_percentage(std::int64_t carveout) {
  return carveout == kDefaultCarveout ? 100 : carveout;
}

std::int64_t distance(Axis axis, std::int64_t from, std::int64_t to) {
  if (axis == Axis::carveout_pct) return std::abs(as_percentage(from) - as_percentage(to));
  return std::abs(from - to);
}

// Values of an axis, the nearest to the configuration's first.
std::vector<std::int64_t> nearest_first(const Limits& limits, Axis axis, std::int64_t from) {
  std::vector<std::int64_t> values = values_of(axis, limits);
  std::ranges::stable_sort(values, {}, [&](std::int64_t value) { return distance(axis, from, value); });
  return values;
}

Occupancy occupancy_of(const Limits& limits, const Configuration& configuration) {
  return theoretical_occupancy(limits, configuration.launch, configuration.usage);
}

// A partial warp would count as occupancy gained without a thread to show for it.
bool may_raise(const Limits& limits, Axis axis, std::int64_t value) {
  return axis != Axis::block_threads || value % limits.threads_per_warp == 0;
}

Cliffs cliffs_on(const Limits& limits, const Configuration& configuration, Axis axis) {
  const int warps = occupancy_of(limits, configuration).warps_per_sm();
  const std::int64_t from = value_on(axis, configuration);
  Cliffs cliffs{axis, {}, {}};
  for (const std::int64_t to : nearest_first(limits, axis, from)) {
    const Occupancy changed = occupancy_of(limits, with(axis, to, configuration));
    const Step step{{axis, from, to}, changed.blocks_per_sm, changed.theoretical_pct};
    if (!cliffs.down && changed.warps_per_sm() < warps) cliffs.down = step;
    if (!cliffs.up && changed.warps_per_sm() > warps && may_raise(limits, axis, to)) cliffs.up = step;
    if (cliffs.down && cliffs.up) break;
  }
  return cliffs;
}

// Of all values of an axis that leave an SM with the same block limits the one nearest to the
// configuration's.
std::vector<Change> distinct_changes(const Limits& limits, const Configuration& configuration, Axis axis) {
  const auto outcome = [&](const Configuration& changed) {
    const Occupancy occupancy = occupancy_of(limits, changed);
    const BlockLimits& of = occupancy.block_limits;
    return std::tuple(occupancy.warps_per_block, of.registers, of.shared_memory, of.barriers);
  };
  std::set seen{outcome(configuration)};
  std::vector<Change> changes;
  const std::int64_t from = value_on(axis, configuration);
  for (const std::int64_t to : nearest_first(limits, axis, from)) {
    if (!may_raise(limits, axis, to)) continue;
    if (seen.insert(outcome(with(axis, to, configuration))).second) changes.push_back({axis, from, to});
  }
  return changes;
}

}  // namespace

std::vector<Cliffs> cliffs(const Limits& limits, const Configuration& configuration) {
  std::vector<Cliffs> all;
  for (const Axis axis : kAllAxes) {
    const Cliffs on_axis = cliffs_on(limits, configuration, axis);
    if (on_axis.down || on_axis.up) all.push_back(on_axis);
  }
  return all;
}

double cost_of(const Change& change) {
  const std::int64_t difference = distance(change.axis, change.from, change.to);
  if (difference == 0) return 0;
  if (change.axis == Axis::carveout_pct) return static_cast<double>(difference) / 100;
  return static_cast<double>(difference) / static_cast<double>(std::max(change.from, change.to));
}

std::optional<PairOfChanges> cheapest_pair(const Limits& limits, const Configuration& configuration) {
  const int warps = occupancy_of(limits, configuration).warps_per_sm();
  std::optional<PairOfChanges> best;
  double best_cost = 0;
  const auto consider = [&](const Change& first, const Change& second) {
    const double cost = cost_of(first) + cost_of(second);
    if (best && cost > best_cost) return;
    const Configuration changed = with(second.axis, second.to, with(first.axis, first.to, configuration));
    const Occupancy occupancy = occupancy_of(limits, changed);
    if (occupancy.warps_per_sm() <= warps) return;
    if (best && cost == best_cost && occupancy.theoretical_pct <= best->theoretical_pct) return;
    best = {first, second, occupancy.blocks_per_sm, occupancy.theoretical_pct};
    best_cost = cost;
  };
  std::vector<std::vector<Change>> changes;
  for (const Axis axis : kAllAxes) changes.push_back(distinct_changes(limits, configuration, axis));
  for (std::size_t one = 0; one < changes.size(); ++one) {
    for (std::size_t other = one + 1; other < changes.size(); ++other) {
      for (const Change& first : changes[one]) {
        for (const Change& second : changes[other]) consider(first, second);
      }
    }
  }
  return best;
}

std::string to_string(const Change& change) {
  const auto text = [&](std::string_view of, std::string_view unit = "") {
    const std::string from = change.axis == Axis::carveout_pct && change.from == kDefaultCarveout
                                 ? "the default"
                                 : fmt::format("{}{}", change.from, unit);
    return fmt::format("{}{} {} instead of {}", change.to, unit, of, from);
  };
  switch (change.axis) {
    case Axis::block_threads:
      return text("threads per block");
    case Axis::registers_per_thread:
      return text("registers per thread");
    case Axis::shared_bytes_per_block:
      return text("of shared memory per block", " B");
    case Axis::carveout_pct:
      return text("as the carveout", " %");
    case Axis::barriers:
      return text("barriers per block");
  }
  throw std::logic_error("not an Axis");
}

}  // namespace occbench
