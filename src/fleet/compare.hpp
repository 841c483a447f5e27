#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/deviations.hpp"
#include "fleet/fleet_rows.hpp"

namespace occbench {

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

/// Compares GPUs with all of them and with a baseline, which itself is not judged.
/// @throws InputError if they are of several models
ComparedFleet compare_gpus(const FleetRows& rows, std::span<const std::size_t> judged,
                           std::span<const std::size_t> baseline);

}  // namespace occbench
