#include "gpu/launch.hpp"

namespace occbench {

namespace {

/// CUDA programming guide, "Thread Block Clusters".
constexpr int kMostPortableClusterBlocks = 8;

/// Sets it only where it is another: a device without clusters has no such attribute to set.
void allow_non_portable_clusters(const void* function, bool allowed) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
  if ((attributes.nonPortableClusterSizeAllowed != 0) == allowed) return;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, allowed ? 1 : 0),
        "cudaFuncSetAttribute(NonPortableClusterSizeAllowed)");
}

}  // namespace

void configure(const void* function, const Launch& launch) {
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.dynamic_shared_bytes)),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  check(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                             launch.carveout_pct.value_or(cudaSharedmemCarveoutDefault)),
        "cudaFuncSetAttribute(PreferredSharedMemoryCarveout)");
  allow_non_portable_clusters(function, launch.cluster_blocks > kMostPortableClusterBlocks);
}

}  // namespace occbench
