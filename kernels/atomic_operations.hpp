#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Each thread does one atomic operation on device memory and drops the result. `extent` consecutive threads
/// share an address, as in atomic_forms. No `Work` describes them, so nothing is predicted.
///
/// Variants, on 32-bit integers of device scope:
///   add, sub, max, min  atomicAdd, atomicSub, atomicMax, atomicMin
///   compare_swap        one atomicCAS from 0: one thread per address changes it, and only in the first
///                       launch
extern const Kernel kAtomicOperations;

inline constexpr int kAtomicOperationsBlockThreads = 256;

}  // namespace occbench
