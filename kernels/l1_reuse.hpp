#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Every block reads the same `extent` bytes again and again and uses no shared memory: what it gets depends
/// on whether they fit in what the carveout leaves of L1, so that no `Work` describes
/// it. Variants: `plain`.
extern const Kernel kL1Reuse;

/// A block of this many threads reads kL1ReuseStepBytes at a time; `extent` is a multiple of it.
inline constexpr int kL1ReuseBlockThreads = 256;
inline constexpr std::int64_t kL1ReuseStepBytes = 16LL * 1024;

/// About what a block reads, in whole rounds through `extent` bytes.
inline constexpr std::int64_t kL1ReuseBlockBytes = 2LL * 1024 * 1024;

}  // namespace occbench
