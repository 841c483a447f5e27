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

/// A launch that may have run while the SMs were sampled. A graph is one launch per kernel.
struct LoggedLaunch {
  /// A memory fill or copy. The driver may have launched a kernel for it, whose blocks are not known.
  static constexpr std::uint32_t kMemory = ~std::uint32_t{0};
  /// CUDA's legacy default stream. Its launches run only beside those of non-blocking streams.
  static constexpr std::uint32_t kLegacyStream = 0;
  static constexpr std::uint32_t kNonBlocking = 0x8000;  ///< a bit of such streams' numbers
  // Only in stream numbers that are noted with launches, not here.
  static constexpr std::uint32_t kEarly = 0x4000;         ///< a bit if it may begin early
  static constexpr std::uint32_t kBeside = kNonBlocking;  ///< if others may run beside it

  std::uint32_t kernel = 0;     ///< its number, or kMemory
  std::uint64_t blocks = 0;     ///< of its grid
  std::uint32_t stream = 0;     ///< equal for launches that run one after another
  std::uint64_t called_ns = 0;  ///< when the program called, on the samples' clock; 0 = not known
  Begins begins = Begins::after_end;

  bool operator==(const LoggedLaunch&) const = default;
};

/// Sums over one launch's samples, which saw all its blocks.
struct SampledLaunch : SampledTotals {
  std::uint32_t kernel = 0;
  std::uint64_t start_ns = 0;  ///< of its first sample
  std::uint64_t end_ns = 0;    ///< of its last
};

struct Attribution {
  std::vector<SampledLaunch> launches;
  double attributed_ns = 0;    ///< active time of these
  double unattributed_ns = 0;  ///< active time of blocks of no known launch, or of several at once
  double cut_ns = 0;           ///< active time of launches that the samples' begin or end may have cut
};

/// Finds the kernels in the samples by counting blocks. In a chain, a launch has the samples from its first block to the next launch's
/// first block. They are its own if it ends between two samples and if all launches since an idle sample follow one another in their
/// streams. A launch that others may run beside, such as a branch of a graph, needs idle samples before and after it. One that may begin
/// early waited if few SMs were active before it; otherwise neither it nor the one before it has own samples. A launch with few own samples
/// and no idle ones beside them is not attributed.
///
/// Blocks that fit no launch are foreign (copies by kernels, another process) and are not attributed. Nor are those that fit in several
/// ways.
/// @param samples   in time order; the first spans the time before and is left out
/// @param launches  in call order; also many from before the samples
Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

/// A launch between two block counts, which begin with a window's second sample.
struct ChainLink {
  std::size_t launch = 0;   ///< of the logged ones
  std::uint64_t begin = 0;  ///< blocks before it
  std::uint64_t end = 0;    ///< including its own
  bool is_clean = false;    ///< no sample has blocks of both it and a neighbour
};

/// Launches that follow one another in the log and in the samples. It includes memory fills and copies with the blocks of no launch, if
/// any.
using Chain = std::vector<ChainLink>;

/// Finds launches by their ends. While a launch's last blocks run, none are launched, so the block count between two samples is that of
/// whole launches. A chain begins at a pause of the SMs and goes on while most launches end between samples. Blocks of no launch end it,
/// unless the log has a fill or copy. Launches that ran in another order than the log's are in no chain. Matches that an accident could
/// explain, or that fit other launches as well, are left out.
std::vector<Chain> find_chains(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches);

/// Samples' and calls' clocks may differ by this (records and samples: 0.8 us, H100).
inline constexpr std::uint64_t kClockToleranceNs = 2000;

/// An SM active for less than this share of a sample waited for blocks.
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
