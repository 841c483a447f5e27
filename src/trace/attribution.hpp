#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "entries/entries.hpp"
#include "measure/pm_sampling.hpp"
#include "measure/program_events.hpp"

namespace occbench {

/// A launch that may have run while the SMs were sampled. A graph is one for each of its kernels.
struct LoggedLaunch {
  /// Of a fill or a copy of memory, for which the driver may have launched a kernel: its blocks are not known.
  static constexpr std::uint32_t kMemory = ~std::uint32_t{0};
  /// CUDA's legacy default stream, whose launches run beside none but those of non-blocking streams.
  static constexpr std::uint32_t kLegacyStream = 0;
  static constexpr std::uint32_t kNonBlocking = 0x8000;  ///< a bit of the numbers of such streams
  // In the numbers of streams that are noted with launches, not here.
  static constexpr std::uint32_t kEarly = 0x4000;         ///< a bit of one that begins early
  static constexpr std::uint32_t kBeside = kNonBlocking;  ///< of one that others may run beside

  std::uint32_t kernel = 0;     ///< its number, or kMemory
  std::uint64_t blocks = 0;     ///< of its grid
  std::uint32_t stream = 0;     ///< equal for launches that run one after another
  std::uint64_t called_ns = 0;  ///< when the program called, on the samples' clock; 0 = not known
  Begins begins = Begins::after_end;

  bool operator==(const LoggedLaunch&) const = default;
};

/// What samples say of one launch, all of whose blocks they saw.
struct SampledLaunch : SampledTotals {
  std::uint32_t kernel = 0;
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

/// Finds the kernels in the samples by counting blocks: chains of launches have the samples from the one with the first
/// block of a launch to the one before the first block of the next. A launch has them for itself if it ends between two samples,
/// and if, since a sample was idle, all launches follow one another in their streams. One that others may run beside, as a branch of a
/// graph, has them if samples before and behind it are idle. One that may begin early waited if few SMs were active before it; else neither it nor
/// the one before it has any. One that has few samples for itself and no idle ones beside them is not attributed.
///
/// Blocks that fit no launches are of somebody else (copies by kernels, another process) and are not attributed, and those that
/// fit in several ways are neither.
/// @param samples   in order of time; the first spans what was before and is left out
/// @param launches  in the order of their calls; also many from before the samples
Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

/// What ran between two counts of blocks, which are those of a window from its second sample on.
struct ChainLink {
  std::size_t launch = 0;   ///< of the logged ones
  std::uint64_t begin = 0;  ///< blocks before it
  std::uint64_t end = 0;    ///< and with its own
  bool is_clean = false;    ///< no sample has blocks of it and of a neighbour
};

/// Launches that follow one another in the log and in the samples. Fills and copies of memory are in it with the blocks that no
/// launch has, if any.
using Chain = std::vector<ChainLink>;

/// Finds launches by where they end: while a launch's last blocks run, none are launched, so the count of blocks between two samples
/// is that of whole launches. A chain begins at a pause of the SMs, and goes on while most launches end between samples. Blocks
/// that no launch has end it, but where the log has a fill or a copy. Launches that the log has in another order than they ran in
/// are in none. What an accident could explain, or what fits other launches as well, is left out.
std::vector<Chain> find_chains(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

/// Samples' and calls' clocks may differ by so much (records and samples: 0.8 us, H100).
inline constexpr std::uint64_t kClockToleranceNs = 2000;

/// An SM that is active for less of a sample has waited for blocks.
inline constexpr double kBusy = 0.95;

inline std::uint64_t blocks_of(const SmSample& sample) {
  return static_cast<std::uint64_t>(std::llround(sample.blocks));
}

inline bool is_idle(const SmSample& sample) {
  return sample.active_cycles <= 0 && sample.blocks <= 0;
}

/// Time in which an SM was active.
inline double active_ns(const SmSample& sample) {
  if (sample.elapsed_cycles <= 0) return 0;
  const auto length = static_cast<double>(sample.end_ns - sample.start_ns);
  return length * std::min(sample.longest_cycles / sample.elapsed_cycles, 1.0);
}

/// The share of the time in which SMs were active, summed over SMs.
inline double active_share(const SmSample& sample) {
  return sample.active_cycles / std::max(sample.elapsed_cycles, 1.0);
}

}  // namespace occbench
