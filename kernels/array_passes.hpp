#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Passes over arrays in device memory, one element per thread, as in programs: they show the time cost of a
/// block size. No `Work` describes them, so nothing is predicted. `extent` is the number of floats read;
/// threads beyond it do nothing.
///
/// Variants:
///   copy     output[i] = input[i]
///   stencil  the sum of a point of a grid of kStencilWidth columns and its four neighbours
extern const Kernel kArrayPasses;

inline constexpr std::int64_t kStencilWidth = 8192;

}  // namespace occbench
