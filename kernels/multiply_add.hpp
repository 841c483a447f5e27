#pragma once

#include <memory>

#include "gpu/kernel.hpp"
#include "kernels/multiply_add_arguments.hpp"

namespace occbench {

/// What each warp does in `rounds` rounds: cycles for a warp that has the SM to itself and spills nothing,
/// and the instructions that it issues (predict/kernel_costs.hpp).
Work multiply_add_work(const MultiplyAddShape& shape, int rounds);

/// The host half: random inputs, a reference computed with the host's own multiply-add, which is exact to the
/// last bit. The variant's kernel takes MultiplyAddArguments; the case's work decides the rounds.
std::unique_ptr<Prepared> prepare_multiply_add(const MultiplyAddShape& shape, const Case& chosen,
                                               const Variant& variant);

/// Likewise of a kernel that also takes the cycles for which its warps stay, after one round. The case's work
/// is equal for all blocks. @throws InputError where it is not
std::unique_ptr<Prepared> prepare_resident(const MultiplyAddShape& shape, const Case& chosen,
                                           const Variant& variant);

}  // namespace occbench
