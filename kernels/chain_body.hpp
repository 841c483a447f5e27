#pragma once

// Shared by the two halves of fma_chains. It is also compiled at run time, so it includes nothing.
namespace occbench {

enum class ChainBody { fma, exponential };

/// Most chains of a thread.
inline constexpr int kMostChains = 8;

}  // namespace occbench
