#pragma once

#include <cstdint>
#include <vector>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "simulate/device_model.hpp"
#include "simulate/residency.hpp"
#include "simulate/work.hpp"

namespace occbench {

/// Simulates where and when the blocks of a launch run. Blocks are dispatched in ascending order, GPC by GPC,
/// in each to all SMs with room (dispatcher.hpp). SMs launch and replace them at the device's speed
/// (residency.hpp). Warps take as long as they do alone or under contention (block_execution.hpp). The blocks
/// of a cluster start together, each on its own SM of one GPC.
///
/// @param tasks  for launch.grid_blocks blocks of this launch's warps
/// @param seed      of all random draws; modulo the number of GPCs it is the first GPC. The same seed gives
///                  the same result on every machine
/// @param spans     receives when each simulated block was resident; null = not wanted
/// @throws InputError if the launch fits no SM, its clusters fit no GPC, or its grid is empty, above 2^31 - 1
/// blocks or not whole clusters.
Simulation simulate(const Launch& launch, const Usage& usage, const Limits& limits, const DeviceModel& device,
                    const Tasks& tasks, std::uint64_t seed, std::vector<BlockSpan>* spans = nullptr);

}  // namespace occbench
