#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace occbench {

// Occupancy over the time of one launch, from hardware samples of all SMs at once.

/// Activity of the SMs between two triggers of the sampling hardware.
struct ActivitySample {
  std::uint64_t start_ns = 0;  ///< on the GPU's clock
  std::uint64_t end_ns = 0;
  double warp_cycles = 0;     ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;   ///< of the SM that had a warp for the longest time
  double elapsed_cycles = 0;  ///< mean over SMs; their counters are not read at exactly the same time
};

/// Samples in order of time, from before a launch until after it.
struct ActivitySamples {
  std::vector<ActivitySample> samples;
  std::vector<std::string> losses;  ///< losses of samples in hardware or library, one sentence each
};

/// A time step of a launch.
struct ActivityStep {
  double start_us = 0;  ///< from the launch's first warp
  double end_us = 0;
  std::optional<double> active_warps_pct;  ///< mean over all SMs, of the SM's maximum; empty: no sample
};

/// Occupancy of one launch from its first warp to its last, step by step without gaps.
struct Activity {
  std::vector<ActivityStep> steps;
  double sm_clock_mhz = 0;
  std::vector<std::string> losses;  ///< why steps are empty or the end is missing, one sentence each

  /// Mean over the time of the launch, without empty steps: the equivalent of the counters'
  /// achieved_elapsed_pct.
  double mean_pct() const;
};

/// Everything that ran while the samples were taken counts as the launch. It begins and ends within a sample;
/// the active cycles of that sample's longest SM give the position. Steps take their length from the SMs'
/// cycles, because the clock of the samples has coarse steps (32 ns on an H200) and lags some microseconds.
/// @param warp_slots warps that all SMs together can hold
Activity activity_of(const ActivitySamples& samples, double warp_slots);

}  // namespace occbench
