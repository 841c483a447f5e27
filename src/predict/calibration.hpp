#pragma once

#include <optional>
#include <span>
#include <vector>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "predict/device_profile.hpp"
#include "simulate/work.hpp"

namespace occbench {

// A device profile from launches of known work: GPCs, TPCs and clocks from a launch whose warps were recorded, the
// parameters from what the counters of others read.

/// A launch of known work and what its counters read.
struct CalibrationLaunch {
  Launch launch;
  Usage usage;
  Work work;
  double achieved_pct = 0;
  double cycles_active = 0;           ///< mean over SMs
  std::optional<int> first_gpc = {};  ///< as Chance has it
};

/// A block of a recorded launch.
struct RecordedBlock {
  int sm = 0;
  double start_cycles = 0;  ///< on a clock that is the same for all SMs
  double end_cycles = 0;
  double own_cycles = 0;  ///< from start to end on the clock of its SM, 0 = not recorded
};

/// GPCs and singleton TPCs, from the order in which SMs took the blocks of a launch that fills the device
/// (ascending by index), what a replacement takes longer on each TPC, and how fast each GPC's clock runs. A
/// GPC is a run of ascending SMs; SMs that had a second block before all had one belong to singleton TPCs,
/// each of which has the clock of the GPC whose clock is nearest to its own. Where the order tells nothing (a
/// run of more than 64 SMs, SMs without a block), GPCs are as even as can be.
/// @param model  whose number of SMs and parameters stay
/// @param again  blocks of another recording of that launch, for latencies and clocks
/// @return whether clocks were measured
bool find_gpcs(DeviceModel& model, std::span<const RecordedBlock> blocks,
               std::span<const RecordedBlock> again = {});

/// How far predictions are from the counters, mean over launches: points of occupancy, and a third of a point
/// for each percent of active cycles.
double misfit(const DeviceProfile& profile, const Limits& limits,
              std::span<const CalibrationLaunch> launches);

/// How far a fit looks.
struct FitSearch {
  int rounds = 6;
  double first_step = 0.25;  ///< a parameter is first made so much larger, in shares of it
  /// Of measured clocks. Who takes a tail flips with their scale, so that a search ends near where it began: it begins
  /// with several, and the one that explains most is kept. These lie around those that explain four H200s and two H100s.
  std::vector<double> clock_scales = {0.8, 1.0, 1.25, 1.56};
};

/// The parameters of `profile` fitted, from its values on; a rule that is off in it stays off. One after
/// another is made larger or smaller, within what it may be on any GPU, as long as the misfit falls: first, with launches of equal blocks in whole
/// waves, or in no more than one, what these depend on; then, if clocks were measured, their scale and what they
/// differ by from launch to launch, with all other launches. The same launches give the same profile on every
/// machine.
/// @throws InputError as simulate() does.
DeviceProfile fit_parameters(DeviceProfile profile, const Limits& limits,
                             std::span<const CalibrationLaunch> launches, bool clocks_are_known,
                             const FitSearch& search = {});

}  // namespace occbench
