#pragma once

#include <vector>

#include "gpu/device.hpp"

namespace occbench {

/// Fills the device with one block an SM and has one block more, for which there is no room until the one on
/// `sm` leaves: the last block of the launch is placed there. Blocks leave after some milliseconds at the
/// latest. @return the SM of that last block. @throws CudaError
int place_last_block_on(const Device& device, int sm);

/// The SM of each block of a launch that is resident at once: 256 threads, `blocks` blocks, some 10 us.
/// @throws CudaError
std::vector<int> sms_of_blocks(int blocks);

}  // namespace occbench
