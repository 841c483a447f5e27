#pragma once

#include <cstdint>

// What the two halves of the multiply-add kernels share. It includes next to nothing, for it is compiled once
// for every register cap.
namespace occbench {

/// A loop over a chain of fused multiply-adds, sum = sum * value + addend, which uses `values` values in
/// turn. All of them are needed in each round, so that they live in registers, or where there are too few in
/// local memory.
struct MultiplyAddShape {
  int values;          ///< values alive, at least 2
  int steps;           ///< multiply-adds in a round of the loop
  int steps_per_load;  ///< the addend of one step in this many comes from L2, from a place that the sum
                       ///< decides; 0: none
};

/// Threads with the same number modulo this have the same inputs; where there are loads, warps, so that all
/// lanes of a warp load from the same place: one sector.
inline constexpr unsigned kInputSets = 256;

/// Entries of the table that addends are loaded from: bits of the sum that are a multiple of 4 bytes and
/// below this.
inline constexpr std::uint32_t kTableByteMask = 0xfffc;

struct MultiplyAddArguments {
  const float* inputs;  ///< [values + 1][kInputSets]; the last are the first sums
  const float* table;
  int rounds;
  float* sums;  ///< one a thread
};

}  // namespace occbench
