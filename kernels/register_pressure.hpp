#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// One kernel that uncapped takes about 150 registers per thread, and the effect of fewer: more warps fit,
/// and values that do not fit in registers go to local memory. 144 values are used in turn by a chain of
/// multiply-adds (multiply_add.hpp), every 24th of which waits for an addend from L2.
///
/// Variants:
///   uncapped      the compiler decides
///   cap_N         compiled with -maxrregcount=N, without anything that overrides it
///   maxnreg_N     the same by __maxnreg__(N)
///   min_blocks_N  __launch_bounds__(256, N), N from 1 to 8
extern const Kernel kRegisterPressure;

inline constexpr int kRegisterPressureBlockThreads = 256;

/// Nominal, without spills: the cost of spilling depends on the caches.
Work register_pressure_work(int rounds);

}  // namespace occbench
