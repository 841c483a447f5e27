#pragma once

#include <optional>
#include <span>
#include <vector>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "predict/device_profile.hpp"
#include "simulate/work.hpp"

namespace occbench {

// A device profile from launches of known work: GPCs, TPCs and clocks from a launch whose warps were
// recorded, the parameters from counters of other launches.

/// A launch of known work and its counter readings.
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
  double start_cycles = 0;  ///< on a clock shared by all SMs
  double end_cycles = 0;
  double own_cycles = 0;  ///< duration on the clock of its SM, 0 = not recorded
};

/// Finds GPCs and singleton TPCs from the order in which SMs took the blocks of a launch that fills the
/// device (ascending by index), and the extra replacement latency of each TPC and the clock of each GPC. A
/// GPC is a run of ascending SMs. SMs that had a second block before all had one belong to singleton TPCs;
/// each of these gets the GPC clock nearest to its own. If the order is not usable (a run of more than 64
/// SMs, SMs without a block), GPCs are as even as possible.
/// @param model  keeps its number of SMs and parameters
/// @param again  blocks of a second recording of that launch, for latencies and clocks
/// @return whether clocks were measured
bool find_gpcs(DeviceModel& model, std::span<const RecordedBlock> blocks,
               std::span<const RecordedBlock> again = {});

/// Mean error of predictions over launches: points of occupancy, plus a third of a point per percent of
/// active cycles.
double misfit(const DeviceProfile& profile, const Limits& limits,
              std::span<const CalibrationLaunch> launches);

/// Extent of a fit's search.
struct FitSearch {
  int rounds = 6;
  double first_step = 0.25;  ///< first change of a parameter, as a share of it
  /// Scales of measured clocks from which a search starts; the best result is kept. Tail placement flips with
  /// the scale, so a search ends near its start. These lie around the scales that explain four H200s and two
  /// H100s.
  std::vector<double> clock_scales = {0.8, 1.0, 1.25, 1.56};
};

/// Fits the parameters of `profile`, starting with its values; a rule that is off stays off. Each parameter
/// in turn is made larger or smaller, within its range on any GPU, as long as the misfit falls. Stage 1 fits
/// launches of equal blocks in whole waves, or in at most one wave. Stage 2 runs if clocks were measured: it
/// fits their scale and their spread per launch to all other launches. The same launches give the same
/// profile on every machine.
/// @throws InputError as simulate() does.
DeviceProfile fit_parameters(DeviceProfile profile, const Limits& limits,
                             std::span<const CalibrationLaunch> launches, bool clocks_are_known,
                             const FitSearch& search = {});

}  // namespace occbench
