#pragma once

#include "gpu/kernel.hpp"
#include "kernels/chain_body.hpp"

namespace occbench {

/// Only arithmetic in registers, in independent chains of dependent instructions. With few chains and warps,
/// instruction latency limits it; with many, the pipe.
///
/// Variants: `fma_N` and `exponential_N` with N of 1, 2, 4 and 8 chains per thread.
///   fma           fused multiply-adds: the FP32 pipe
///   exponential   2 to the power of a value, the logarithm of that, and so on: the special-function pipe
extern const Kernel kFmaChains;

inline constexpr int kChainCounts[] = {1, 2, 4, 8};

/// "fma_4". @throws std::out_of_range if there is none with so many chains.
std::string_view fma_chains_variant(ChainBody body, int chains);

/// As the kernel's own, for any number of chains from 1 to 8: for a variant compiled at run time.
std::unique_ptr<Prepared> prepare_fma_chains(ChainBody body, int chains, const Case& chosen,
                                             const Variant& variant, const Device& device);

/// Work of a warp in one round; a launch's `Work` is a whole number of rounds.
struct ChainRound {
  double cycles;       ///< for a warp alone on its sub-partition
  double issue_slots;  ///< instructions
  double pipe_cycles;  ///< in which it keeps the pipe busy, 0 if not more than its instructions
};

/// The pipes' widths are those of the CUDA C++ Programming Guide's table of arithmetic throughput.
ChainRound fma_chains_round(const Limits& limits, ChainBody body, int chains);

/// Rounds of every warp that take about `cycles` if `warps` warps share a sub-partition; with the lockstep
/// time if it is known for the device.
Work fma_chains_work(const Limits& limits, ChainBody body, int chains, int warps, double cycles);

}  // namespace occbench
