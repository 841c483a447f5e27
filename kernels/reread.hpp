#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Every block reads the same `extent` bytes again and again and uses no shared memory: what it gets depends
/// on whether they fit in what the carveout leaves of L1. Variants: `plain`.
extern const Kernel kReread;

/// A block of this many threads reads kRereadStepBytes at a time; `extent` is a multiple of it.
inline constexpr int kRereadBlockThreads = 256;
inline constexpr std::int64_t kRereadStepBytes = 16LL * 1024;

/// So many times through `extent` bytes.
Work reread_work(std::int64_t extent, std::int64_t rounds);

}  // namespace occbench
