#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// One kernel that by itself takes about 150 registers a thread, and what becomes of it when it may have
/// fewer: more warps fit, and what does not fit in registers goes to local memory. 144 values are used in
/// turn by a chain of multiply-adds (multiply_add.hpp), every 24th of which waits for an addend from L2.
///
/// Variants:
///   uncapped      as the compiler likes it
///   cap_N         compiled with -maxrregcount=N, and nothing else that could override it
///   maxnreg_N     the same by __maxnreg__(N)
///   min_blocks_N  __launch_bounds__(256, N), N from 1 to 8
extern const Kernel kRegisterPressure;

inline constexpr int kRegisterPressureBlockThreads = 256;

/// Nominal, as if nothing were spilled: what spilling adds depends on the caches.
Work register_pressure_work(int rounds);

}  // namespace occbench
