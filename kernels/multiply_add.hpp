#pragma once

#include <memory>

#include "gpu/kernel.hpp"
#include "kernels/multiply_add_arguments.hpp"

namespace occbench {

/// Work of each warp in `rounds` rounds: cycles of a warp alone on the SM without spills, and its
/// instructions (predict/kernel_costs.hpp).
Work multiply_add_work(const MultiplyAddShape& shape, int rounds);

/// The host half: random inputs, a reference computed with the host's own multiply-add, which is exact to the
/// last bit. The variant's kernel takes MultiplyAddArguments; the case's work decides the rounds.
std::unique_ptr<Prepared> prepare_multiply_add(const MultiplyAddShape& shape, const Case& chosen,
                                               const Variant& variant);

/// Likewise for a kernel whose warps do one round and then stay for a number of cycles, also an argument.
/// @throws InputError if the case's work is not equal for all blocks
std::unique_ptr<Prepared> prepare_resident(const MultiplyAddShape& shape, const Case& chosen,
                                           const Variant& variant);

}  // namespace occbench
