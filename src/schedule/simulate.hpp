#pragma once

#include <cstdint>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "schedule/device_profile.hpp"
#include "schedule/tasks.hpp"
#include "schedule/timeline.hpp"

namespace occbench {

/// What the counters of a launch should read.
struct Simulation {
  double achieved_pct = 0;        ///< resident warps over the SM's maximum, in cycles in which the SM had any
  double elapsed_pct = 0;         ///< the same over all SMs and the longest SM's active cycles
  double cycles_active_min = 0;   ///< active cycles of the SM that had fewest
  double cycles_active_mean = 0;  ///< over all SMs
  double cycles_active_max = 0;
  Timeline timeline;
};

/// Where and when the blocks of a launch run: in ascending order, GPCs in turn and in each all SMs with room,
/// as fast as the profile's dispatch allows (placement.hpp). The blocks of a cluster start together, on as
/// many SMs of one GPC.
///
/// @param tasks     for launch.grid_blocks blocks of this launch's warps
/// @param sm_count  SMs of the device
/// @param seed      what is left to chance: seed modulo the number of GPCs is the one that begins, and the
/// rest
///                  follows from it, too; the same seed gives the same result on every machine
/// @throws InputError if the launch fits no SM, its clusters fit no GPC, or its grid is empty, beyond 2^31 -
/// 1 blocks or no multiple of its clusters.
Simulation simulate(const Launch& launch, const Usage& usage, const Limits& limits, int sm_count,
                    const DeviceProfile& profile, const Tasks& tasks, std::uint64_t seed);

}  // namespace occbench
