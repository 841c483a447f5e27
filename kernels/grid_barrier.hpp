#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// In every round each member of a group takes over what its neighbour has, which nobody can do before all
/// have come so far: what synchronizing groups of several sizes costs.
///
/// Variants:
///   tile_N   groups of N of a warp's threads, N of 4, 8, 16 and 32, by shuffles
///   block    a block's threads, through shared memory and a barrier
///   cluster  a cluster's blocks, through each other's shared memory and the cluster's barrier
///   grid     all blocks, through device memory and grid.sync(): a cooperative launch, which must be
///            refused where the blocks do not fit at once; such a case ends in its check, as CannotRun
///   alone    as `grid`, with each block its own neighbour and no synchronization: what is left is its cost
/// The case's `extent` are the rounds.
extern const Kernel kGridBarrier;

/// Of blocks that are so many rounds long, where nothing but waiting for one another decides how long that
/// is: blocks of a grid, and of clusters of more than one. Nominal; what the others take depends on how many
/// share an SM.
Work grid_barrier_work(std::int64_t rounds);

}  // namespace occbench
