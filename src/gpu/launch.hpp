#pragma once

#include <array>

#include <cuda_runtime_api.h>

#include "gpu/error.hpp"
#include "gpu/kernel.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// Sets a function's attributes as `launch` needs them: dynamic shared memory beyond the default, carveout,
/// clusters beyond the portable size. They stay with the function, so every case sets all of them again.
/// @throws CudaError
void configure(const void* function, const Launch& launch);

/// How the blocks of a grid start: as there is room, or all at once, so that they may wait for one another.
enum class Start { as_there_is_room, together };

/// Queues `function` on `stream`. `arguments` must have exactly the types of the kernel's parameters. @throws
/// CudaError
template <typename... Arguments>
void launch_kernel(Start start, const void* function, const Launch& launch, cudaStream_t stream,
                   Arguments... arguments) {
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned attribute_count = 0;
  if (start == Start::together) {
    attributes[attribute_count].id = cudaLaunchAttributeCooperative;
    attributes[attribute_count++].val.cooperative = 1;
  }
  if (launch.cluster_blocks > 1) {
    attributes[attribute_count].id = cudaLaunchAttributeClusterDimension;
    attributes[attribute_count++].val.clusterDim = {static_cast<unsigned>(launch.cluster_blocks), 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid_blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.block_threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_shared_bytes);
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = attribute_count;
  std::array<void*, sizeof...(Arguments)> pointers{&arguments...};
  check(cudaLaunchKernelExC(&config, function, pointers.data()), "cudaLaunchKernelExC");
}

template <typename... Arguments>
void launch_kernel(const void* function, const Launch& launch, cudaStream_t stream, Arguments... arguments) {
  launch_kernel(Start::as_there_is_room, function, launch, stream, arguments...);
}

}  // namespace occbench
