#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/fleet_rows.hpp"

namespace occbench {

/// A quantity of a GPU that is compared with its peers.
enum class FleetQuantity : unsigned char {
  sm_clock,   ///< mean clock of the SMs while counters ran, %
  gpc_clock,  ///< mean clock of the SMs over that of the slowest, %
  sm_cycles,  ///< speed in cycles of the longest SM, of kernels on all SMs, %
  bandwidth,  ///< of device memory, %
  l2,         ///< speed of cases bound by the L2 cache, %
  counters,   ///< achieved_elapsed_pct, points
};

/// A quantity in words, and the distance from which on a GPU is out of line.
struct FleetQuantityFacts {
  std::string_view name;  ///< "sm_clock", ...
  std::string_view unit;  ///< "%" or "points"
  /// In `unit`. At least 2.5 times the largest distance of a healthy GPU, or of another run of one GPU, from any
  /// three or more recorded peers: 0.13, 0.06, 0.02, 0.17, 1.6 and 0.01. docs/fleet.md has the table, and a test
  /// recomputes it. For L2 the location in memory differs from process to process.
  double named_from;
  std::string_view below, above;  ///< sentences with a place for the distance
  bool tells_time = false;        ///< reports the time of work, the inverse of its speed
};

inline constexpr std::array kFleetQuantities = {FleetQuantity::sm_clock,  FleetQuantity::gpc_clock,
                                                FleetQuantity::sm_cycles, FleetQuantity::bandwidth,
                                                FleetQuantity::l2,        FleetQuantity::counters};

const FleetQuantityFacts& facts_of(FleetQuantity quantity);

/// How far one GPU is from its peers.
struct Deviation {
  double value =
      0;  ///< median over cases of the distance from the peers' median, in the quantity's unit; below 0 = slower
  std::size_t cases = 0;  ///< number of cases in the median
  std::size_t worst = 0;  ///< number of the case furthest in that direction
};

/// By quantity; empty if fewer than two cases have a value of it.
using Deviations = std::array<std::optional<Deviation>, kFleetQuantities.size()>;

/// A property in which a GPU is out of line.
struct FleetFinding {
  std::string
      cause;  ///< a FleetQuantity, throttle_REASON, other_processes, counters_missing, idle_sm, failed, or the
              ///< column in which it differs from most
  double size = 0;          ///< in `size_unit`
  std::string size_unit{};  ///< %, points, % of cases, or the column's unit
  /// The size from which on a GPU of this fleet is named. Empty if a row itself says so.
  std::optional<double> named_from{};
  bool note = false;  ///< not worse: a faster GPU, another driver
  std::string sentence{};
  std::string worst_case{};  ///< the case furthest out; empty if no case stands out
  bool own_past = false;     ///< compared with the GPU's earlier runs, not with its peers
  std::string since{};       ///< when the first run with it was recorded; empty = not asked
};

/// A GPU beside its peers.
struct ComparedGpu {
  std::size_t gpu = 0;  ///< its number in FleetRows::gpus
  Deviations deviations;
  std::vector<FleetFinding> findings;
  std::string no_verdict;  ///< why there is none; empty if there is one

  /// Whether a finding is more than a note.
  bool out_of_line() const;
};

/// Result of a comparison.
struct ComparedFleet {
  std::vector<ComparedGpu> gpus;  ///< in the order of those judged
  /// By quantity, the distance from which on a GPU is named. Empty if none can be.
  std::array<std::optional<double>, kFleetQuantities.size()> named_from;
  std::vector<std::string> remarks;  ///< on several GPUs or on uncompared rows
};

/// Where the values of GPUs lie, robust against few outliers, and the distance from there from which on a GPU is
/// named.
struct Middle {
  double median = 0;
  double named_from = 0;
};

/// @param least  named at no smaller distance. If five or more values lie further apart, the distance is five
/// standard deviations, estimated as 1.4826 median absolute deviations (exact for a normal distribution).
/// @pre `values` is not empty
Middle middle_of(std::span<const double> values, double least);

/// A GPU needs two others, or two runs.
inline constexpr std::size_t kFewestPeers = 3;

/// Compares GPUs with a baseline, which itself is not judged. If fewer than kFewestPeers of the baseline can be
/// compared, the peers are the baseline and all judged GPUs.
/// @throws InputError if they are of several models
ComparedFleet compare_gpus(const FleetRows& rows, std::span<const std::size_t> judged,
                           std::span<const std::size_t> baseline);

}  // namespace occbench
