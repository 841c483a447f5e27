#pragma once

#include <string>

#include "fleet/rank.hpp"

namespace occbench {

/// For a terminal: what is out of line, then GPUs with their distances from the peers' median.
std::string fleet_table(const FleetRows& rows, const RankedFleet& ranked);

/// A line of JSON for each GPU, outliers first.
std::string fleet_json(const FleetRows& rows, const RankedFleet& ranked);

/// The last line of the table: "1 of 12 GPUs is out of line."
std::string fleet_headline(const RankedFleet& ranked);

}  // namespace occbench
