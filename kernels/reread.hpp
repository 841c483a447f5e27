#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Every block reads the same `extent` bytes again and again and uses no shared memory: what it gets depends
/// on whether they fit in what the carveout leaves of L1, so that no `Work` describes
/// it. Variants: `plain`.
extern const Kernel kReread;

/// A block of this many threads reads kRereadStepBytes at a time; `extent` is a multiple of it.
inline constexpr int kRereadBlockThreads = 256;
inline constexpr std::int64_t kRereadStepBytes = 16LL * 1024;

/// About what a block reads, in whole rounds through `extent` bytes.
inline constexpr std::int64_t kRereadBlockBytes = 2LL * 1024 * 1024;

}  // namespace occbench
