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
  bool tells_time = false;        ///< of the time that work takes, the inverse of its speed
};

inline constexpr std::array kFleetQuantities = {FleetQuantity::sm_clock,  FleetQuantity::gpc_clock,
                                                FleetQuantity::sm_cycles, FleetQuantity::bandwidth,
                                                FleetQuantity::l2,        FleetQuantity::counters};

const FleetQuantityFacts& facts_of(FleetQuantity quantity);

/// How far one GPU is from its peers.
struct Deviation {
  double value =
      0;  ///< median over cases of the distance from the peers' median, in the quantity's unit; below 0 = slower
  std::size_t cases = 0;  ///< that it is the median of
  std::size_t worst = 0;  ///< number of the case furthest in that direction
};

/// By quantity; empty where fewer than two cases say something of it.
using Deviations = std::array<std::optional<Deviation>, kFleetQuantities.size()>;

/// In what a GPU is out of line.
struct FleetFinding {
  std::string
      cause;  ///< a FleetQuantity, throttle_REASON, other_processes, counters_missing, idle_sm, failed, or the
              ///< column in which it differs from most
  double size = 0;          ///< in `size_unit`
  std::string size_unit{};  ///< %, points, % of cases, or the column's unit
  /// The size from which on a GPU of this fleet is named. Empty where a row says so itself.
  std::optional<double> named_from{};
  bool note = false;  ///< nothing is worse for it: a faster GPU, another driver
  std::string sentence{};
  std::string worst_case{};  ///< the case furthest out; empty where no case says more than others
  bool own_past = false;     ///< compared with the GPU's earlier runs, not with its peers
  std::string since{};       ///< when the first of the runs was recorded in which it is so; empty = not asked
};

/// A GPU beside its peers.
struct ComparedGpu {
  std::size_t gpu = 0;  ///< its number in FleetRows::gpus
  Deviations deviations;
  std::vector<FleetFinding> findings;
  std::string no_verdict;  ///< why there is none; empty where there is one

  /// Whether a finding is more than a note.
  bool out_of_line() const;
};

/// What came of a comparison.
struct ComparedFleet {
  std::vector<ComparedGpu> gpus;  ///< in the order of those that were judged
  /// By quantity, the distance from which on a GPU is named. Empty where none can be.
  std::array<std::optional<double>, kFleetQuantities.size()> named_from;
  std::vector<std::string> remarks;  ///< on several GPUs or on what is not compared
};

/// Where values of GPUs lie, whatever few outliers among them do, and from how far from there on a GPU is named.
struct Middle {
  double median = 0;
  double named_from = 0;
};

/// @param least  named at no smaller distance. Where five values or more lie further apart, it takes five of their standard
/// deviations, estimated as 1.4826 median absolute deviations (exact for a normal distribution). @pre `values` is not empty
Middle middle_of(std::span<const double> values, double least);

/// A GPU needs two others, or two runs.
inline constexpr std::size_t kFewestPeers = 3;

/// Compares GPUs with a baseline, which itself is not judged, or, where fewer than kFewestPeers of it can be compared, with it
/// and all of them.
/// @throws InputError if they are of several models
ComparedFleet compare_gpus(const FleetRows& rows, std::span<const std::size_t> judged,
                           std::span<const std::size_t> baseline);

}  // namespace occbench
