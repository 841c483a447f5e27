#include "gpu/launch.hpp"

namespace occbench {

void configure(const void* function, const Launch& launch) {
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.dynamic_shared_bytes)),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  check(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                             launch.carveout_pct.value_or(cudaSharedmemCarveoutDefault)),
        "cudaFuncSetAttribute(PreferredSharedMemoryCarveout)");
  if (launch.cluster_blocks > 8) {
    check(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "cudaFuncSetAttribute(NonPortableClusterSizeAllowed)");
  }
}

}  // namespace occbench
