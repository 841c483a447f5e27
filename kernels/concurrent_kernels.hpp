#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Two launches of `spin`, each as the case's `launch` says with the work of `items` for its blocks, in two
/// streams: the second may fill what the last wave of the first leaves idle. The case has `items` (whose
/// count is that of the blocks) and no `work`. Variants: `plain`.
extern const Kernel kConcurrentKernels;

}  // namespace occbench
