#pragma once

// What the two halves of fma_chains share. It is also compiled at run time, and so includes nothing.
namespace occbench {

enum class ChainBody { fma, exponential };

/// Most chains of a thread.
inline constexpr int kMostChains = 8;

}  // namespace occbench
