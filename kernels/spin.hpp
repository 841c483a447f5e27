#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Each warp stays resident for its number of cycles, per block or per warp, as `Work` draws them, and does
/// nothing else: achieved occupancy then depends only on scheduling and is known by construction. Warps sleep
/// in between, because spinning warps would keep their siblings from starting. Keeps records of its warps.
///
/// Variants: `plain`; `ptx_only`, the same without machine code in the binary, so that the driver compiles
/// it.
extern const Kernel kSpin;

}  // namespace occbench
