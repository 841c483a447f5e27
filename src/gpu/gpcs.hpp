#pragma once

#include <vector>

#include "gpu/device.hpp"

namespace occbench {

/// SMs of each GPC (graphics processing cluster), most first, as far as thread block clusters show them: the
/// blocks of a cluster share a GPC, so clusters of every size are launched with one block per SM, and SMs that
/// share one belong together. No interface of CUDA says it. An SM that no cluster comes to counts as a GPC of
/// its own.
///
/// Groups of two SMs are real: TPCs that take part in no larger cluster, as what NVIDIA's open kernel modules
/// call singleton virtual GPCs (SKYLINE_INFO in ctrl2080internal.h). On an H200, in 320 launches of clusters
/// of 1 to 16 with 1, 2 and 4 blocks per SM, SMs 124 to 131 shared clusters in the same four pairs alone, and
/// all SMs in groups of 18 18 16 16 16 16 16 8 2 2 2 2, whatever the size of the clusters;
/// cudaOccupancyMaxActiveClusters counts in these very groups (occupancy/runtime_answers.hpp). Another unit
/// of the same GPU model has other groups.
///
/// Empty below compute capability 9.0, which has no clusters. `device` must be the current device
/// (open_device). Takes some milliseconds. @throws CudaError
std::vector<int> sms_per_gpc(const Device& device);

}  // namespace occbench
