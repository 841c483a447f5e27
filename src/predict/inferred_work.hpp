#pragma once

#include <optional>
#include <string_view>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "predict/device_profile.hpp"
#include "predict/prediction.hpp"
#include "simulate/work.hpp"

namespace occbench {

// A launch of a program does not state the work of its blocks. It is inferred from the duration of other
// launches of the same kernel and configuration: equal blocks whose length makes the launch take that time.

/// Measured values of launches of the same kernel and configuration, above 0.
struct ObservedLaunch {
  /// Cycles from the first warp to the last: time times SM clock.
  std::optional<double> elapsed_cycles{};
  /// Cycles in which an SM had a warp, mean over all SMs. Used only if there is no time.
  std::optional<double> cycles_active_mean{};
};

struct InferredWork {
  Work work;
  std::string_view source;  ///< "time" or "cycles"
};

/// Equal work for all blocks that takes that time. Grids of more than some 16,000 blocks are cut to fewer
/// whole waves.
/// @returns empty if nothing is known
/// @throws InputError as simulate() does
std::optional<InferredWork> infer_work(const Asked& asked, const ObservedLaunch& observed);

/// Checks that warps with this work can stay in lockstep on a device. @throws InputError if they cannot
void require_lockstep(const Work& work, const DeviceProfile& profile);

}  // namespace occbench
