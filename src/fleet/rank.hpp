#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fleet/compare.hpp"

namespace occbench {

/// Which GPUs of FleetRows are judged, and their baseline.
struct FleetQuestion {
  std::vector<std::size_t> judged;
  std::vector<std::size_t> baseline;  ///< peers that are not judged
  std::vector<std::size_t> earlier;   ///< earlier runs of the same GPUs
};

/// A fleet, outliers first.
struct RankedFleet : ComparedFleet {
  std::size_t out_of_line() const;
  std::size_t no_verdict() const;
};

/// Compares each GPU with its peers and with its own earlier runs. A finding says since when it exists if there are
/// earlier runs. @throws InputError as compare_gpus()
RankedFleet rank_fleet(const FleetRows& rows, const FleetQuestion& question);

/// For a terminal: findings, then GPUs with their distances from the peers' median.
std::string fleet_table(const FleetRows& rows, const RankedFleet& ranked);

/// One line of JSON per GPU, outliers first.
std::string fleet_json(const FleetRows& rows, const RankedFleet& ranked);

/// The last line of the table: "1 of 12 GPUs is out of line."
std::string fleet_headline(const RankedFleet& ranked);

}  // namespace occbench
