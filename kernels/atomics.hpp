#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// The sum of an array, a value a thread, into `extent` addresses in turn: threads, warps or blocks add what
/// they have to the address of their own number.
///
/// Variants:
///   thread   each thread adds its value: an atomic a thread (cuda::atomic_ref, device scope)
///   warp     a warp's values are summed by shuffles: an atomic a warp
///   serial   a block's values go to shared memory and thread 0 sums them: an atomic a block
///   block    they are summed by all of its threads (cub::BlockReduce): an atomic a block
/// Blocks of kAtomicsBlockThreads. How long one takes is decided by who else adds to its addresses: no `Work`
/// describes it.
extern const Kernel kAtomics;

inline constexpr int kAtomicsBlockThreads = 256;

}  // namespace occbench
