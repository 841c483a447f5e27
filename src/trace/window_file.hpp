#pragma once

#include <filesystem>
#include <span>

#include "measure/sm_sampler.hpp"
#include "trace/attribution.hpp"

namespace occbench {

/// A window as `window` lines have it.
struct WindowFacts {
  std::uint64_t interval_ns = 0;
  int device = 0;
  int warps_per_sm = 0;        ///< that one can hold
  std::uint64_t began_ns = 0;  ///< on CUPTI's clock, where the times of the lines begin
};

/// Appends a window to a text file, for a timeline and for tests of the attribution. Times are in ns. Lines: `window INTERVAL DEVICE
/// WARPS_PER_SM BEGAN`, `call CALLED KERNEL BLOCKS STREAM` of each launch (KERNEL is - for a fill or a copy of memory), `sample START LENGTH
/// BLOCKS WARP_CYCLES ACTIVE_CYCLES LONGEST_CYCLES ELAPSED_CYCLES` of each sample, `idle START END COUNT` of samples in which nothing ran,
/// and `launch KERNEL START LENGTH WARP_CYCLES ACTIVE_CYCLES` of each launch that was found.
void append_window(const std::filesystem::path& file, const WindowFacts& facts,
                   std::span<const SmSample> samples, std::span<const LoggedLaunch> launches,
                   std::span<const SampledLaunch> found);

}  // namespace occbench
