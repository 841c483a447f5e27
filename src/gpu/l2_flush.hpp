#pragma once

#include <optional>

#include "gpu/resources.hpp"

namespace occbench {

/// Empties a device's L2 cache of what launches left there, by writing more than it holds.
class L2Flush {
 public:
  /// @throws CudaError
  explicit L2Flush(int device_index);

  /// Queues the writing. The first call allocates the memory that is written. @throws CudaError
  void queue(cudaStream_t stream);

 private:
  std::size_t bytes_;
  std::optional<DeviceBuffer<unsigned char>> memory_;
};

}  // namespace occbench
