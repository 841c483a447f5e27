#pragma once

#include <memory>

#include "gpu/kernel.hpp"
#include "kernels/multiply_add_arguments.hpp"

namespace occbench {

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

/// The host half: random inputs, a reference computed with the host's own multiply-add, which is exact to the
/// last bit. The variant's kernel takes MultiplyAddArguments; the case's work decides the rounds.
std::unique_ptr<Prepared> prepare_multiply_add(const MultiplyAddShape& shape, const Case& chosen,
                                               const Variant& variant);

}  // namespace occbench
