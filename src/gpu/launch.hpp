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

/// Queues `function` on `stream`. `arguments` has the place of each argument. @throws CudaError
void launch_kernel_with(Start start, const void* function, const Launch& launch, cudaStream_t stream,
                        void** arguments);

/// Queues `function` on `stream`. `arguments` must have exactly the types of the kernel's parameters. @throws
/// CudaError
template <typename... Arguments>
void launch_kernel(Start start, const void* function, const Launch& launch, cudaStream_t stream,
                   Arguments... arguments) {
  std::array<void*, sizeof...(Arguments)> pointers{&arguments...};
  launch_kernel_with(start, function, launch, stream, pointers.data());
}

template <typename... Arguments>
void launch_kernel(const void* function, const Launch& launch, cudaStream_t stream, Arguments... arguments) {
  launch_kernel(Start::as_there_is_room, function, launch, stream, arguments...);
}

}  // namespace occbench
