#pragma once

#include <cstdint>

// Shared by the two halves of the multiply-add kernels. It includes almost nothing, because it is compiled
// once per register cap.
namespace occbench {

/// A loop over a chain of fused multiply-adds, sum = sum * value + addend, which uses `values` values in
/// turn. Each round needs all of them, so they live in registers, or in local memory if there are too few.
struct MultiplyAddShape {
  int values;          ///< values alive, at least 2
  int steps;           ///< multiply-adds in a round of the loop
  int steps_per_load;  ///< the addend of one step in this many comes from L2, from a place that the sum
                       ///< decides; 0: none
};

/// Threads with the same number modulo this have the same inputs. With loads this applies to warps, so all
/// lanes of a warp load from one sector.
inline constexpr unsigned kInputSets = 256;

/// Mask on the sum's bits for the byte offset of an addend in the table, a multiple of 4.
inline constexpr std::uint32_t kTableByteMask = 0xfffc;

struct MultiplyAddArguments {
  const float* inputs;  ///< [values + 1][kInputSets]; the last are the first sums
  const float* table;
  int rounds;
  float* sums;  ///< one per thread
};

}  // namespace occbench
