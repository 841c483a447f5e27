#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "measure/sm_sampler.hpp"

namespace occbench {

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
