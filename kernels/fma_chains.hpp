#pragma once

#include "gpu/kernel.hpp"
#include "kernels/chain_body.hpp"

namespace occbench {

/// Arithmetic in independent chains of dependent instructions and nothing else, in registers: what limits it
/// is the latency of an instruction where chains and warps are few, and the pipe where they are many.
///
/// Variants: `fma_N` and `exponential_N` with N of 1, 2, 4 and 8 chains a thread.
///   multiply_add  fused multiply-adds: the FP32 pipe
///   exponential   2 to the power of a value, the logarithm of that, and so on: the special-function pipe
extern const Kernel kFmaChains;

inline constexpr int kChainCounts[] = {1, 2, 4, 8};

/// "fma_4". @throws std::out_of_range if there is none with so many chains.
std::string_view fma_chains_variant(ChainBody body, int chains);

/// As the kernel's own, of any number of chains from 1 to 8: for a variant that was compiled at run time.
std::unique_ptr<Prepared> prepare_fma_chains(ChainBody body, int chains, const Case& chosen,
                                             const Variant& variant, const Device& device);

/// What a warp does in a round, of which a launch's `Work` has a whole number.
struct ChainRound {
  double cycles;       ///< for a warp that has its sub-partition to itself
  double issue_slots;  ///< instructions
  double pipe_cycles;  ///< in which the pipe is busy with it, 0 where they are no more than instructions
};

/// The pipes' widths are those of the CUDA C++ Programming Guide's table of arithmetic throughput.
ChainRound fma_chains_round(const Limits& limits, ChainBody body, int chains);

/// As many rounds of every warp as take about `cycles` where so many warps share a sub-partition; with the
/// time in lockstep where it is known for the device.
Work fma_chains_work(const Limits& limits, ChainBody body, int chains, int warps, double cycles);

}  // namespace occbench
