#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

// The compiled functions of spin, available at any time, also before kSpin is initialized.

Variant spin_plain();

/// From a file with PTX of compute capability 7.5 and without machine code.
Variant spin_as_ptx();

}  // namespace occbench
