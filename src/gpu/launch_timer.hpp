#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "gpu/launch.hpp"

namespace occbench {

/// Flags between the host and the kernel that blocks a stream.
struct StreamGate {
  int released = 0;  ///< by the host
  int gave_up = 0;   ///< by the kernel: it waited too long for the host
};

/// Times launches by device events. The events and the launch are queued behind a kernel that blocks the
/// stream until the host has queued all of them; without it, an event pair around a launch on an idle stream
/// reads several microseconds of the host's own time.
class LaunchTimer {
 public:
  /// Queues work on a stream, without waiting for the device.
  using Queue = std::function<void(cudaStream_t)>;

  /// @throws CudaError
  LaunchTimer();

  /// Microseconds on the device of the work that `queue` queues: time between two events around it, less that
  /// of an empty pair. Its kernels must have been launched once before (modules load on first use, which
  /// waits).
  /// @param before queues untimed work ahead
  /// @throws CudaError, also for a fault of the launch itself; std::runtime_error if the host was repeatedly
  /// delayed for so long that the stream went on without it
  double microseconds(const Queue& queue, const Queue& before = {});

  const Stream& stream() const {
    return stream_;
  }

 private:
  double event_pair(const Queue& queue, const Queue& before);
  void queue_behind_gate(const Queue& queue, const Queue& before);

  Stream stream_;
  Event before_;
  Event after_;
  SharedValue<StreamGate> gate_;
  double empty_pair_microseconds_ = 0;
};

/// Empties a device's L2 cache by reading more than it holds. Dirty lines are then in memory: none is written
/// back during the next launch.
class L2Flush {
 public:
  explicit L2Flush(std::size_t l2_bytes);

  /// Queues the reads. The first call allocates the memory to read. @throws CudaError
  void queue(cudaStream_t stream);

 private:
  std::size_t bytes_;
  std::optional<DeviceBuffer<std::uint32_t>> memory_;
};

}  // namespace occbench
