#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

// The compiled functions of hold, which may be asked for at any time, also before kSpin itself is ready.

Variant spin_plain();

/// From a file that has PTX of compute capability 7.5 and no machine code.
Variant spin_as_ptx();

}  // namespace occbench
