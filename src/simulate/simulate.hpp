#pragma once

#include <cstdint>
#include <vector>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "simulate/device_model.hpp"
#include "simulate/residency.hpp"
#include "simulate/work.hpp"

namespace occbench {

/// Where and when the blocks of a launch run: in ascending order, GPCs one after another and in each all SMs
/// with room (dispatcher.hpp), as fast as the device launches and replaces them (residency.hpp), for as long as
/// their warps take alone or beside one another (block_execution.hpp). The blocks of a cluster start
/// together, on as many SMs of one GPC.
///
/// @param tasks  for launch.grid_blocks blocks of this launch's warps
/// @param seed      what is left to chance: seed modulo the number of GPCs is the first GPC, and the rest
///                  follows from it, too; the same seed gives the same result on every machine
/// @param spans     gets when each simulated block held its place; null = not wanted
/// @throws InputError if the launch fits no SM, its clusters fit no GPC, or its grid is empty, beyond 2^31 -
/// 1 blocks or not whole clusters.
Simulation simulate(const Launch& launch, const Usage& usage, const Limits& limits, const DeviceModel& device,
                    const Tasks& tasks, std::uint64_t seed, std::vector<BlockSpan>* spans = nullptr);

}  // namespace occbench
