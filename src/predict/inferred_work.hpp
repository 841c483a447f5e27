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

/// The same work with the time in lockstep with which a launch of it is predicted to read what its counter
/// read. One reading serves other launches of the same code; best is one with all warps that an SM holds,
/// where it tells most.
///
/// @param work          of warps that can issue in every cycle; a time in lockstep that it gives is not
/// looked at
/// @param achieved_pct  what the counter read
/// @throws InputError if the warps of the work cannot issue in every cycle, or no time explains the reading;
/// and as predict() does
Work lockstep_as_read(const Asked& asked, const Work& work, double achieved_pct);

}  // namespace occbench
