#pragma once

#include <vector>

#include "gpu/error.hpp"
#include "gpu/kernel.hpp"
#include "gpu/launch.hpp"

namespace occbench {

/// Results of one launch. Every byte of `results` is `poison` before, so that unwritten elements show.
/// @throws CudaError
template <typename T>
std::vector<T> result_of_launch(Prepared& prepared, cudaStream_t stream, DeviceBuffer<T>& results,
                                unsigned char poison = 0xff) {
  results.fill_bytes(poison);
  prepared.launch(stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return results.to_host();
}

}  // namespace occbench
