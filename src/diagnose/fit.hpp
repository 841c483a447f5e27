#pragma once

#include <vector>

#include "diagnose/claim.hpp"

namespace occbench {

struct CauseClaim {
  Cause cause;
  Claim claim;
};

/// Makes the claims agree with what was measured: none above its part, all together not above the loss. What
/// they leave goes to the cause that counters show at work, or by part to uneven blocks or warps.
/// @returns points that no cause explains
double fit(std::vector<CauseClaim>& claims, const Situation& situation);

}  // namespace occbench
