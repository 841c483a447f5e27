#include "predict/lockstep.hpp"

#include <cmath>
#include <string>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/warps.hpp"
#include "predict/prediction.hpp"

namespace occbench {
namespace {

/// Launches that differ less between never and always in lockstep tell nothing: streams of such warps are
/// predicted to some two points.
constexpr double kLeastSpanPoints = 5;
/// Of two readings of a launch.
constexpr double kPointsOfNoise = 0.5;

}  // namespace

void require_lockstep(const Work& work, const DeviceProfile& profile) {
  const double least_issue = profile.model.parameters.always_issuing_share;
  if (work.rates().always_issues(least_issue)) return;
  throw InputError(fmt::format(
      "work '{}': warps stay in lockstep only where they can issue in almost every cycle: by the profile {} "
      "issue must be at least {} and no less than pipe; leave lockstep out where it is less",
      to_string(work), profile.name, least_issue * work.cycles));
}

Work lockstep_as_read(const Launch& launch, const Usage& usage, const Limits& limits,
                      const DeviceProfile& profile, const Work& work, double achieved_pct,
                      const Chance& chance) {
  require_lockstep(work, profile);
  require_simulable(limits, Tasks(work, launch.grid_blocks, warps_of_block(launch.block_threads)));
  const auto lockstep = [&](double cycles) {
    Work other = work;
    other.lockstep_cycles = cycles;
    return other;
  };
  const auto predicted = [&](double cycles) {
    const Tasks tasks(lockstep(cycles), launch.grid_blocks, warps_of_block(launch.block_threads));
    return simulate_often(launch, usage, limits, profile, tasks, chance);
  };
  double least = 0;
  const Simulations never = predicted(least);
  double most = never.cycles_active_max;
  const Simulations always = predicted(most);
  const std::string range =
      fmt::format("of warps never in lockstep {:.2f} % are predicted, of warps always in lockstep {:.2f} %",
                  never.achieved.middle, always.achieved.middle);
  if (always.achieved.middle - never.achieved.middle < kLeastSpanPoints) {
    throw InputError(fmt::format(
        "this launch tells nothing of how long its warps stay in lockstep: {}; take a reading of one "
        "wave with all warps that an SM holds",
        range));
  }
  if (!(achieved_pct >= never.achieved.middle - kPointsOfNoise &&
        achieved_pct <= always.achieved.middle + kPointsOfNoise)) {
    throw InputError(
        fmt::format("no time in lockstep explains a reading of {} %: {}; check the launch and its work",
                    achieved_pct, range));
  }
  const double near = most / 1000;
  while (most - least > near) {
    const double middle = (least + most) / 2;
    (predicted(middle).achieved.middle < achieved_pct ? least : most) = middle;
  }
  return lockstep(std::round((least + most) / 2));
}

}  // namespace occbench
