#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fleet/fleet_rows.hpp"
#include "fleet/outliers.hpp"

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
inline constexpr std::array kFleetQuantities = {FleetQuantity::sm_clock,  FleetQuantity::gpc_clock,
                                                FleetQuantity::sm_cycles, FleetQuantity::bandwidth,
                                                FleetQuantity::l2,        FleetQuantity::counters};

/// "sm_clock", ...
std::string_view to_string(FleetQuantity quantity);

/// "%" or "points"
std::string_view fleet_unit(FleetQuantity quantity);

/// The spread between healthy GPUs. Clocks: about that of the calibration runs of five H200s. Cycles and counters:
/// about ten times that of those runs. L2: that of twenty runs of one H200. Where memory lies in L2 differs from
/// process to process. Bandwidth: twice the range of five H100s. docs/fleet.md has the figures, and a test compares
/// them with the runs.
NaturalSpread natural_spread(FleetQuantity quantity);

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
