#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/sm_sampler.hpp"

namespace occbench {

/// A launch that may have run while the SMs were sampled. A graph is one for each of its kernels.
struct LoggedLaunch {
  /// Of a fill or a copy of memory, for which the driver may have launched a kernel: its blocks are not known.
  static constexpr std::uint32_t kMemory = ~std::uint32_t{0};

  std::uint32_t kernel = 0;     ///< its number, or kMemory
  std::uint64_t blocks = 0;     ///< of its grid
  std::uint32_t stream = 0;     ///< equal for launches that run one after another
  std::uint64_t called_ns = 0;  ///< when the program called, on the samples' clock; 0 = not known

  bool operator==(const LoggedLaunch&) const = default;
};

/// What samples say of one launch, all of whose blocks they saw.
struct SampledLaunch {
  std::uint32_t kernel = 0;
  std::int64_t samples = 0;
  double warp_cycles = 0;     ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;   ///< summed over SMs
  double longest_cycles = 0;  ///< of the SM with most active cycles in each sample, summed over samples
  double active_ns = 0;       ///< time in which an SM had a warp of it
};

struct Attribution {
  std::vector<SampledLaunch> launches;
  double attributed_ns = 0;    ///< active time of these
  double unattributed_ns = 0;  ///< active time of blocks that are of no known launch, or of several at once
  double cut_ns =
      0;  ///< active time of launches of which the samples' begin or end may have cut off something
  std::size_t pauses = 0;  ///< stretches of samples in which SMs waited for blocks
};

/// Finds the kernels in the samples by counting blocks: a stretch of samples between two in which all SMs were idle holds the
/// blocks of whole launches, which follow one another as the program made them. Where they cannot begin is told by the
/// calls: no launch runs before it was called for.
///
/// Where no sample is idle, launches are found by where they end: while a launch's last blocks run, none are launched.
///
/// Blocks that fit no launches are of somebody else (copies by kernels, another process) and are not attributed. If the stretches
/// fit the launches in several ways that differ, or fit for less than four fifths of the active time, nothing is attributed:
/// launches is empty. A sample with the first blocks of a launch is counted as that launch's: before them lies a gap of some 500
/// ns (H100, graph of kernels in a chain). A launch of which that leaves too few samples is not attributed.
/// @param samples   in order of time; the first spans what was before and is left out
/// @param launches  in the order of their calls; also many from before the samples
Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

}  // namespace occbench
