#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace occbench {

// How long the units of a launch are busy. A unit is a block, or with `warp/` in front a warp (block by
// block). One canonical string feeds the kernel's input, the simulator, the CSV and `predict --work`:
//
//   equal:CYCLES                              every unit the same
//   linear:CYCLES:FIRST:LAST                  factor from FIRST (first unit) to LAST (last unit), both times
//   CYCLES uniform:CYCLES:LOW:HIGH:seed=N            factor drawn evenly from LOW to HIGH
//   lognormal:CYCLES:SIGMA:seed=N             factor exp(SIGMA * normal), mean scaled to 1
//   exponential:CYCLES:MOST:seed=N            factor drawn from an exponential of mean 1, cut at MOST
//   bimodal:CYCLES:FRACTION:FACTOR:seed=N     a FRACTION of the units takes FACTOR times as long
//   every:CYCLES:N:FACTOR                     each N-th unit (unit % N == 0) takes FACTOR times as long
//   last:CYCLES:COUNT:FACTOR                  the last COUNT units take FACTOR times as long
//
// With `warp/`, `every:C:W:F` where W = warps per block makes one slow warp in each block.

struct EqualWork {};
struct LinearWork {
  double first, last;
};
struct UniformWork {
  double low, high;
  std::uint64_t seed;
};
struct LognormalWork {
  double sigma;
  std::uint64_t seed;
};
struct ExponentialWork {
  double most;
  std::uint64_t seed;
};
struct BimodalWork {
  double fraction, factor;
  std::uint64_t seed;
};
struct EveryWork {
  std::int64_t period;
  double factor;
};
struct LastWork {
  std::int64_t count;
  double factor;
};

using Distribution = std::variant<EqualWork, LinearWork, UniformWork, LognormalWork, ExponentialWork,
                                  BimodalWork, EveryWork, LastWork>;

/// What each block or warp of a launch has to do.
struct Work {
  double cycles = 0;          ///< cycles of a unit whose factor is 1, from 1 to 1e12
  Distribution distribution;  ///< the factor of each unit
  bool per_warp = false;      ///< a unit is a warp, not a block

  /// Cycles of unit `index` of `count`, a whole number of at least 1. Depends on nothing but its arguments,
  /// and is the same on every machine; units can be asked for in any order.
  std::int64_t cycles_of(std::int64_t index, std::int64_t count) const;

  /// Cycles of one warp of a grid.
  std::int64_t cycles_of_warp(std::int64_t block, int warp, std::int64_t grid_blocks,
                              int warps_per_block) const;
};

/// The canonical string; parse_work(to_string(work)) gives the same work.
std::string to_string(const Work& work);

/// @throws InputError naming the part that is malformed and its position.
Work parse_work(std::string_view text);

}  // namespace occbench
