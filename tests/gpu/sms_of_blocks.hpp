#pragma once

#include <vector>

namespace occbench {

/// The SM of each block of a launch that is resident at once: 256 threads, `blocks` blocks, some 10 us.
/// @throws CudaError
std::vector<int> sms_of_blocks(int blocks);

}  // namespace occbench
