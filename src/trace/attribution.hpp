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
  /// CUDA's legacy default stream, whose launches run beside none but those of non-blocking streams.
  static constexpr std::uint32_t kLegacyStream = 0;
  static constexpr std::uint32_t kNonBlocking = 0x8000;  ///< a bit of the numbers of such streams

  std::uint32_t kernel = 0;     ///< its number, or kMemory
  std::uint64_t blocks = 0;     ///< of its grid
  std::uint32_t stream = 0;     ///< equal for launches that run one after another
  std::uint64_t called_ns = 0;  ///< when the program called, on the samples' clock; 0 = not known
  bool is_branch = false;       ///< a node of a graph that others of the graph may run beside

  bool operator==(const LoggedLaunch&) const = default;
};

/// What samples say of one launch, all of whose blocks they saw.
struct SampledLaunch {
  std::uint32_t kernel = 0;
  std::int64_t samples = 0;
  double warp_cycles = 0;      ///< cycles of resident warps, summed over warps and SMs
  double active_cycles = 0;    ///< summed over SMs
  double longest_cycles = 0;   ///< of the SM with most active cycles in each sample, summed over samples
  double active_ns = 0;        ///< time in which an SM had a warp of it
  std::uint64_t start_ns = 0;  ///< of its first sample
  std::uint64_t end_ns = 0;    ///< of its last
};

struct Attribution {
  std::vector<SampledLaunch> launches;
  double attributed_ns = 0;    ///< active time of these
  double unattributed_ns = 0;  ///< active time of blocks that are of no known launch, or of several at once
  double cut_ns =
      0;  ///< active time of launches of which the samples' begin or end may have cut off something
};

/// Finds the kernels in the samples by counting blocks: chains of launches (chain.hpp) have the samples from the one with the first
/// block of a launch to the one before the first block of the next. A launch has them for itself if it ends between two samples,
/// and if, since a sample was idle, all launches follow one another in their streams. A branch of a graph has them if samples before
/// and behind it are idle. One that has few samples for itself
/// and no idle ones beside them is not attributed.
///
/// Blocks that fit no launches are of somebody else (copies by kernels, another process) and are not attributed, and those that
/// fit in several ways are neither.
/// @param samples   in order of time; the first spans what was before and is left out
/// @param launches  in the order of their calls; also many from before the samples
Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

}  // namespace occbench
