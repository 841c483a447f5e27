#pragma once

#include <cstdint>
#include <memory>

#include "gpu/kernel.hpp"

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

/// Cycles of a round for a warp that has the SM to itself and spills nothing. A dependent multiply-add takes
/// 4 cycles (CUDA C++ Programming Guide, Multiprocessor Level: most arithmetic instructions, from compute
/// capability 7.0 on), a dependent load that hits in L2 nominally kCyclesPerLoad.
double cycles_per_round(const MultiplyAddShape& shape);

/// From the sum that decides its place to the addend: an L2 hit and the three instructions of the address.
/// Nominal: the distance to the L2 slice makes it 200 to 300.
inline constexpr double kCyclesPerLoad = 285;

/// Instructions that a warp issues in `rounds` rounds, as compiled for sm_90: multiply-adds, four for each
/// load, three for the loop; and once the loads of the values and the rest of the kernel.
double issue_slots(const MultiplyAddShape& shape, double rounds);

/// What each warp does in `rounds` rounds.
Work multiply_add_work(const MultiplyAddShape& shape, int rounds);

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

/// The host half: random inputs, a reference computed with the host's own multiply-add, which is exact to the
/// last bit. The variant's kernel takes MultiplyAddArguments; the case's work decides the rounds.
std::unique_ptr<Prepared> prepare_multiply_add(const MultiplyAddShape& shape, const Case& chosen,
                                               const Variant& variant);

}  // namespace occbench
