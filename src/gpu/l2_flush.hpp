#pragma once

#include <cstdint>
#include <optional>

#include "gpu/resources.hpp"

namespace occbench {

/// Empties a device's L2 cache of what launches left there, by reading more than it holds. What was written is
/// then in memory: no line is left to be written back during the launch that follows.
class L2Flush {
 public:
  /// @throws CudaError
  explicit L2Flush(int device_index);

  /// Queues the reading. The first call allocates the memory that is read. @throws CudaError
  void queue(cudaStream_t stream);

 private:
  std::size_t bytes_;
  std::optional<DeviceBuffer<std::uint32_t>> memory_;
};

}  // namespace occbench
