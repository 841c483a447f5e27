#pragma once

#include <cstddef>

#include "gpu/kernel.hpp"

namespace occbench {

/// The sum of `extent` floats in device memory, a multiple of 4. Each thread sums four values at a time, with
/// a grid stride, so all variants read alike; they differ in how they combine the threads' sums.
///
/// Variants:
///   thread              each thread adds its sum to the result: one atomic per thread
///   warp                a warp's sums are combined by shuffles: one atomic per warp
///   serial              thread 0 sums its block's values in shared memory: one atomic per block
///   shuffle             shuffles within warps, then within the first one: one atomic per block
///   cooperative_groups  cooperative groups' reduce over a tile of the whole block: one atomic per block
///   cub_block           cub::BlockReduce: one atomic per block
///   cluster             as `shuffle`, then the cluster's first block reads the others' sums from their
///                       shared memory: one atomic per cluster
///   last_block          as `shuffle`, then each block stores its sum and the last to do so sums them: no
///                       atomic add to the result
///   cub_device          cub::DeviceReduce::Sum, which launches its own kernels: the case has no launch
/// Blocks of kReductionThreads. Variants with atomics add to the present result.
///
/// The check has two parts. Whole numbers with a sum below 2^24 must be summed exactly, in any order. The sum
/// of real numbers must be within the bound of its order (see summation_bound) of a sum in double.
extern const Kernel kReductions;

inline constexpr int kReductionThreads = 256;

/// The values repeat a table of this length, a prime, so that no two parts of equal size are the same. The
/// whole numbers are 1 if random_words has a multiple of 8, else 0: 2^26 of them add up to 2^23, which a
/// float represents exactly.
inline constexpr std::size_t kReductionTableLength = 1'048'573;

/// Largest error of a sum of floats, over the sum of their magnitudes, if no value goes through more than
/// `additions` roundings: (1 + 2^-24)^additions - 1 (Higham, Accuracy and Stability of Numerical Algorithms,
/// 2nd edition, section 4.2).
double summation_bound(double additions);

}  // namespace occbench
