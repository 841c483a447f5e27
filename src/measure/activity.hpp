#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace occbench {

// Occupancy over the time of one launch, from samples that the hardware took of all SMs at once.

/// What the SMs did from one trigger of the sampling hardware to the next.
struct ActivitySample {
  std::uint64_t start_ns = 0;  ///< on the GPU's clock
  std::uint64_t end_ns = 0;
  double warp_cycles = 0;     ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;   ///< of the SM that had a warp for longest
  double elapsed_cycles = 0;  ///< mean over SMs, whose counters are not read at quite the same moment
};

/// Samples in order of time, from before a launch until after it.
struct ActivitySamples {
  std::vector<ActivitySample> samples;
  std::vector<std::string> losses;  ///< what the hardware or the library lost of them, a sentence each
};

/// A stretch of the time of a launch.
struct ActivityStep {
  double start_us = 0;  ///< from the launch's first warp
  double end_us = 0;
  std::optional<double> active_warps_pct;  ///< mean over all SMs, of the SM's maximum; empty: no sample
};

/// Occupancy of one launch from its first warp to its last, step by step without gaps.
struct Activity {
  std::vector<ActivityStep> steps;
  double sm_clock_mhz = 0;
  std::vector<std::string> losses;  ///< why a step is empty or the whole is cut short, a sentence each

  /// Mean over the time of the launch, less the steps that are empty: what achieved_elapsed_pct says by
  /// counters.
  double mean_pct() const;
};

/// The launch is what ran while the samples were taken, all of it. It begins and ends within a sample: the
/// cycles in which that sample's longest SM was active tell where. Steps are as long as the SMs' cycles say:
/// the clock that marks the samples has coarse steps (32 ns on an H200) and lags some microseconds.
/// @param warp_slots warps that all SMs together can hold
Activity activity_of(const ActivitySamples& samples, double warp_slots);

}  // namespace occbench
