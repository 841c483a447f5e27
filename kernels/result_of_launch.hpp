#pragma once

#include <vector>

#include "gpu/error.hpp"
#include "gpu/kernel.hpp"
#include "gpu/launch.hpp"

namespace occbench {

/// What one launch writes into `results`, every byte of which is `poison` before, so that what the kernel
/// left out shows. @throws CudaError
template <typename T>
std::vector<T> result_of_launch(Prepared& prepared, cudaStream_t stream, DeviceBuffer<T>& results,
                                unsigned char poison = 0xff) {
  results.fill_bytes(poison);
  prepared.launch(stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return results.to_host();
}

}  // namespace occbench
