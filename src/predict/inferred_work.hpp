#pragma once

#include <optional>
#include <string_view>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "predict/device_profile.hpp"
#include "predict/prediction.hpp"
#include "simulate/work.hpp"

namespace occbench {

// A launch of a program does not say what its blocks have to do. How long other launches of the same kernel and
// configuration took tells: equal blocks that last so long that the launch takes that time.

/// What is known of launches of the same kernel and configuration. Values are above 0.
struct ObservedLaunch {
  /// Cycles from the first warp to the last, a time times the SM clock.
  std::optional<double> elapsed_cycles{};
  /// Cycles in which an SM had a warp, mean over all SMs. Looked at only where there is no time.
  std::optional<double> cycles_active_mean{};
};

struct InferredWork {
  Work work;
  std::string_view source;  ///< "time" or "cycles"
};

/// Work that is equal for all blocks and takes that time. Grids of more than some 16,000 blocks are cut to fewer
/// whole waves.
/// @returns empty where nothing is known
/// @throws InputError as simulate() does
std::optional<InferredWork> infer_work(const Asked& asked, const ObservedLaunch& observed);

/// Checks that the warps of a work can stay in lockstep on a device. @throws InputError where they cannot
void require_lockstep(const Work& work, const DeviceProfile& profile);

}  // namespace occbench
