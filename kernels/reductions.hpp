#pragma once

#include <cstddef>

#include "gpu/kernel.hpp"

namespace occbench {

/// The sum of `extent` floats in device memory, a multiple of 4. Each thread sums four values at a time, a
/// whole grid apart, so that all variants read alike; they differ in how the threads' sums are put together.
///
/// Variants:
///   thread              each thread adds its sum to the result: an atomic a thread
///   warp                a warp's sums are put together by shuffles: an atomic a warp
///   serial              thread 0 sums what its block left in shared memory: an atomic a block
///   shuffle             shuffles within warps, then within the first one: an atomic a block
///   cooperative_groups  cooperative groups' reduce over a tile of the whole block: an atomic a block
///   cub_block           cub::BlockReduce: an atomic a block
///   cluster             as `shuffle`, then the cluster's first block reads the others' sums from their
///   shared memory: an
///                       atomic a cluster
///   last_block          as `shuffle`, then each block stores its sum and the last to do so sums them: no
///   atomic add to
///                       the result
///   cub_device          cub::DeviceReduce::Sum, which launches kernels of its own: the case has no launch
/// Blocks of kReductionThreads. Variants with atomics add to what the result was.
///
/// The check has two parts. Whole numbers with a sum below 2^24 have to be summed exactly, in whatever order.
/// Of real numbers the sum has to be within the bound of its order (see summation_bound) of a sum in double.
extern const Kernel kReductions;

inline constexpr int kReductionThreads = 256;

/// The values repeat a table of so many, a prime, so that no two parts of equal size are the same. The whole
/// numbers are 1 where random_words has a multiple of 8, else 0: 2^26 of them add up to 2^23, which a float
/// counts exactly.
inline constexpr std::size_t kReductionTableLength = 1'048'573;

/// How far a sum of floats can be from the exact one, over the sum of their magnitudes, if no value goes
/// through more than `additions` roundings: (1 + 2^-24)^additions - 1 (Higham, Accuracy and Stability of
/// Numerical Algorithms, 2nd edition, section 4.2).
double summation_bound(double additions);

}  // namespace occbench
