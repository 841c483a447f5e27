#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

// The compiled functions of hold, which may be asked for at any time, also before kHold itself is ready.

Variant hold_plain();

/// From a file that has PTX of compute capability 7.5 and no machine code.
Variant hold_as_ptx();

}  // namespace occbench
