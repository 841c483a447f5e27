#pragma once

#include <filesystem>
#include <span>

#include "measure/sm_sampler.hpp"
#include "trace/attribution.hpp"

namespace occbench {

/// Appends a window to a text file, for tests of the attribution: a line `window INTERVAL` in ns, `call CALLED KERNEL BLOCKS STREAM` of each
/// launch (KERNEL is - for a fill or a copy of memory), `sample START LENGTH BLOCKS WARP_CYCLES ACTIVE_CYCLES LONGEST_CYCLES ELAPSED_CYCLES`
/// of each sample, and `idle START END COUNT` of samples in which nothing ran.
void append_window(const std::filesystem::path& file, std::uint64_t interval_ns,
                   std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

}  // namespace occbench
