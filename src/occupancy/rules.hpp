#pragma once

#include <string>
#include <vector>

#include "occupancy/configuration.hpp"

namespace occbench {

/// A rule by which an SM's resources become a number of blocks, as it applies to one configuration.
struct AppliedRule {
  Limiter resource;
  /// With its figures, without a full stop: "33 registers x 512 threads: 33 -> 40 per thread by the 256-register unit
  /// per warp, 20,480 registers a block; 65,536 / 20,480 = 3 blocks".
  std::string sentence;
  int blocks;   ///< that it alone allows; kUnlimited if the resource does not limit
  bool limits;  ///< no other rule allows fewer blocks
};

/// A rule for each resource that bears on the configuration, in the order of Limiter.
/// @throws InputError as theoretical_occupancy.
std::vector<AppliedRule> applied_rules(const Limits& limits, const Configuration& configuration);

/// A note that the block slots of clusters (kMaxClusterBlocksPerSm) are assumed, if they lower theory on a compute
/// capability on which nobody saw them; else empty. @throws InputError as theoretical_occupancy.
std::string assumed_cluster_slots(const Limits& limits, const Configuration& configuration);

}  // namespace occbench
