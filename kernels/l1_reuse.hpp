#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Every block reads the same `extent` bytes repeatedly and uses no shared memory: its speed depends on
/// whether they fit into the L1 that the carveout leaves, so no `Work` describes it. Variants: `plain`.
extern const Kernel kL1Reuse;

/// A block of this many threads reads kL1ReuseStepBytes at a time; `extent` is a multiple of it.
inline constexpr int kL1ReuseBlockThreads = 256;
inline constexpr std::int64_t kL1ReuseStepBytes = 16LL * 1024;

/// Approximate bytes that a block reads, in whole rounds through `extent` bytes.
inline constexpr std::int64_t kL1ReuseBlockBytes = 2LL * 1024 * 1024;

}  // namespace occbench
