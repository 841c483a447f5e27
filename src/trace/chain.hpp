#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/sm_sampler.hpp"
#include "trace/attribution.hpp"

namespace occbench {

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

}  // namespace occbench
