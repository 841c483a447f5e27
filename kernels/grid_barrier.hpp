#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// In every round each member of a group reads its neighbour's value, which requires that all have finished
/// the previous round. It shows the cost of synchronizing groups of several sizes.
///
/// Variants:
///   tile_N   groups of N of a warp's threads, N of 4, 8, 16 and 32, by shuffles
///   block    a block's threads, through shared memory and a barrier
///   cluster  a cluster's blocks, through each other's shared memory and the cluster's barrier
///   grid     all blocks, through device memory and grid.sync(): a cooperative launch, which must be
///            refused if the blocks do not fit at once; such a case ends in its check, as CannotRun
///   alone    as `grid`, with each block its own neighbour and no synchronization: the difference is its cost
/// The case's `extent` is the number of rounds.
extern const Kernel kGridBarrier;

/// Work of blocks of `rounds` rounds whose duration depends only on waiting for one another: blocks of a
/// grid, and of clusters of more than one. Nominal; the duration of the other variants depends on how many
/// blocks share an SM.
Work grid_barrier_work(std::int64_t rounds);

}  // namespace occbench
