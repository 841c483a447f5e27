#pragma once

#include <vector>

#include "gpu/device.hpp"

namespace occbench {

/// SMs of each GPC (graphics processing cluster), most first, as far as thread block clusters show them: the
/// blocks of a cluster share a GPC, so clusters of every size are launched with one block an SM, and SMs that
/// share one belong together. No interface of CUDA says it. An SM that no cluster comes to counts as a GPC of
/// its own. Empty below compute capability 9.0, which has no clusters. `device` must be the current device
/// (open_device). Takes some milliseconds. @throws CudaError
std::vector<int> sms_per_gpc(const Device& device);

}  // namespace occbench
