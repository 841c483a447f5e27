#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fleet/fleet_rows.hpp"

namespace occbench {

/// What of a GPU is measured against its peers.
enum class FleetQuantity : unsigned char {
  sm_clock,   ///< mean clock of the SMs while counters ran, %
  gpc_clock,  ///< mean clock of the SMs over that of the slowest, %
  sm_cycles,  ///< speed in cycles of the SM with most, of kernels on all SMs, %
  bandwidth,  ///< of device memory, %
  l2,         ///< speed of cases bound by the L2 cache, %
  counters,   ///< achieved_elapsed_pct, points
};

/// A quantity in words, and from which distance on a GPU is out of line.
struct FleetQuantityFacts {
  std::string_view name;  ///< "sm_clock", ...
  std::string_view unit;  ///< "%" or "points"
  /// In `unit`. At least 2.5 times the largest distance that a healthy GPU, or another run of one GPU, had from any recorded
  /// peers, three and more of them: 0.13, 0.06, 0.02, 0.17, 1.6 and 0.01. docs/fleet.md has the table, and a test computes it
  /// again. In L2 it differs from process to process where memory lies.
  double named_from;
  std::string_view below, above;  ///< sentences with a place for the distance
};

inline constexpr std::array kFleetQuantities = {FleetQuantity::sm_clock,  FleetQuantity::gpc_clock,
                                                FleetQuantity::sm_cycles, FleetQuantity::bandwidth,
                                                FleetQuantity::l2,        FleetQuantity::counters};

const FleetQuantityFacts& facts_of(FleetQuantity quantity);

/// How far one GPU is from its peers.
struct Deviation {
  double value = 0;  ///< median over cases of the distance from the peers' median; below 0 = slower, lower
  std::size_t cases = 0;  ///< that it is the median of
  std::size_t worst = 0;  ///< number of the case furthest in that direction
};

/// By quantity; empty where fewer than two cases say something of it.
using Deviations = std::array<std::optional<Deviation>, kFleetQuantities.size()>;

/// Of each of some GPUs, in their order: peers are all of them.
std::vector<Deviations> deviations_of(const FleetRows& rows, std::span<const std::size_t> gpus);

}  // namespace occbench
