#pragma once

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "predict/chance.hpp"
#include "predict/work.hpp"

namespace occbench {

/// Checks that the warps of a work can stay in lockstep on a device. @throws InputError where they cannot
void require_lockstep(const Work& work, const DeviceProfile& profile);

/// The same work with the time in lockstep with which a launch of it is predicted to read what its counter
/// read. One reading serves other launches of the same code; best is one with all warps that an SM holds,
/// where it tells most.
///
/// @param work          of warps that can issue in every cycle; a time in lockstep that it gives is not
/// looked at
/// @param achieved_pct  what the counter read
/// @throws InputError if the warps of the work cannot issue in every cycle, or no time explains the reading;
/// and as predict() does
Work lockstep_as_read(const Launch& launch, const Usage& usage, const Limits& limits,
                      const DeviceProfile& profile, const Work& work, double achieved_pct,
                      const Chance& chance = {});

}  // namespace occbench
