#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Persistent blocks that take the next item from a queue, one atomic increment per item, until none is left.
/// For each item the block stays for its cycles, as `spin` does for a block. Items are assigned to blocks at
/// run time, so no `Work` describes a block: the case has `items` and no `work`. Variants: `plain`;
/// `of_warps`: each warp takes its own items.
extern const Kernel kWorkQueue;

}  // namespace occbench
