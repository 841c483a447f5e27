#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// The sum of an array, one value per thread, into `extent` addresses in turn: threads, warps or blocks add
/// their sums to the address of their own number.
///
/// Variants:
///   thread   each thread adds its value: one atomic per thread (cuda::atomic_ref, device scope)
///   warp     a warp's values are summed by shuffles: one atomic per warp
///   serial   a block's values go to shared memory and thread 0 sums them: one atomic per block
///   block    all of its threads sum them (cub::BlockReduce): one atomic per block
/// Blocks of kAtomicsBlockThreads. A block's duration depends on the other blocks that add to its addresses,
/// so no `Work` describes it.
extern const Kernel kAtomics;

inline constexpr int kAtomicsBlockThreads = 256;

}  // namespace occbench
