#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// Persistent blocks that take the next item from a queue, one atomic increment an item, until none is left;
/// for each item the block stays for its cycles, as `spin` does for a block. Which block gets which item is
/// decided while it runs, so that no `Work` describes a block: the case has `items` and no `work`. Variants:
/// `plain`; `of_warps`, where each warp takes items for itself.
extern const Kernel kWorkQueue;

}  // namespace occbench
