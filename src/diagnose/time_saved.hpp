#pragma once

#include "diagnose/claim.hpp"

namespace occbench {

/// The most that following a claim's remedy, with the same work, can save of the launch's time, while SMs are active.
/// Until a resource is saturated each warp takes as long as now, so that this time falls as occupancy over elapsed cycles
/// rises; it falls no further than to the time in which the busiest resource that was read would be saturated. Another
/// build of the same kernel that was measured is better than that bound.
/// @param claim  fitted to what was measured
/// @returns nothing for what is not about time
std::optional<TimeSaved> time_saved(Cause cause, const Claim& claim, const Situation& situation);

}  // namespace occbench
