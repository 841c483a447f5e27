#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// A chain of dependent loads through `extent` bytes in random order: cycles over loads is the latency of the
/// memory into which so many bytes fit. Every launch continues where the last one ended, so a chain larger
/// than L2 never hits there. A launch is one block. Variants: `plain`.
extern const Kernel kPointerChase;

/// A line of L1 and L2, in which the chain has one element.
inline constexpr std::int64_t kPointerChaseLineBytes = 128;

/// Work of `loads` loads, at the nominal latency of the memory into which `extent` bytes fit.
Work pointer_chase_work(const Device& device, std::int64_t extent, std::int64_t loads);

}  // namespace occbench
