#pragma once

#include <array>

#include <cuda_runtime_api.h>

#include "gpu/error.hpp"
#include "gpu/kernel.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// Sets a function's attributes as `launch` needs them: dynamic shared memory beyond the default, carveout,
/// clusters beyond the portable size. They stay with the function, so every case sets all of them anew.
/// @throws CudaError
void configure(const void* function, const Launch& launch);

/// Queues `function` on `stream`. `arguments` must have exactly the types of the kernel's parameters. @throws
/// CudaError
template <typename... Arguments>
void launch_kernel(const void* function, const Launch& launch, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(launch.cluster_blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid_blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.block_threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_shared_bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = launch.cluster_blocks > 1 ? 1 : 0;
  std::array<void*, sizeof...(Arguments)> pointers{&arguments...};
  check(cudaLaunchKernelExC(&config, function, pointers.data()), "cudaLaunchKernelExC");
}

}  // namespace occbench
