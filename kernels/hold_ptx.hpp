#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// The hold kernel from a file that has PTX of compute capability 7.5 and no machine code.
Variant hold_as_ptx();

}  // namespace occbench
