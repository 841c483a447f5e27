#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// A chain of dependent loads through `extent` bytes in random order: nothing but latency, so that cycles
/// over loads is the latency of the memory that so many bytes fit in. Every launch goes on where the last one
/// ended, so that a chain longer than L2 finds nothing of it there. A launch is one block. Variants: `plain`.
extern const Kernel kPointerChase;

/// A line of L1 and L2, in which the chain has one element.
inline constexpr std::int64_t kPointerChaseLineBytes = 128;

/// So many loads, at the nominal latency of what `extent` bytes fit in.
Work pointer_chase_work(const Device& device, std::int64_t extent, std::int64_t loads);

}  // namespace occbench
