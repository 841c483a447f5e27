#include "gpu/launch.hpp"

#include "occupancy/occupancy.hpp"

namespace occbench {

namespace {

cudaFuncAttributes attributes_of(const void* function) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
  return attributes;
}

/// Sets it only if it differs: a device without clusters has no such attribute.
void allow_non_portable_clusters(const void* function, bool allowed) {
  if ((attributes_of(function).nonPortableClusterSizeAllowed != 0) == allowed) return;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, allowed ? 1 : 0),
        "cudaFuncSetAttribute(NonPortableClusterSizeAllowed)");
}

dim3 dim_of(const Shape& shape, std::int64_t total) {
  if (shape.empty()) return dim3(static_cast<unsigned>(total));
  return {static_cast<unsigned>(shape.x), static_cast<unsigned>(shape.y), static_cast<unsigned>(shape.z)};
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

void launch_kernel_with(Start start, const void* function, const Launch& launch, cudaStream_t stream,
                        void** arguments) {
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned attribute_count = 0;
  if (start == Start::together) {
    attributes[attribute_count].id = cudaLaunchAttributeCooperative;
    attributes[attribute_count++].val.cooperative = 1;
  }
  // A function compiled for clusters has them without this attribute, possibly of another shape.
  if (launch.cluster_blocks > 1 && attributes_of(function).requiredClusterWidth == 0) {
    attributes[attribute_count].id = cudaLaunchAttributeClusterDimension;
    attributes[attribute_count++].val.clusterDim = {static_cast<unsigned>(launch.cluster_blocks), 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim_of(launch.grid_shape, launch.grid_blocks);
  config.blockDim = dim_of(launch.block_shape, launch.block_threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_shared_bytes);
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = attribute_count;
  check(cudaLaunchKernelExC(&config, function, arguments), "cudaLaunchKernelExC");
}

}  // namespace occbench
