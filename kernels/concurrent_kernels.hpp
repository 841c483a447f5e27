#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Two launches of `spin` in two streams, each with the case's `launch` and the work of `items` for its
/// blocks: the second may fill SMs that the last wave of the first leaves idle. The case has `items` (one per
/// block) and no `work`. Variants: `plain`.
extern const Kernel kConcurrentKernels;

}  // namespace occbench
