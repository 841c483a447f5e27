#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "gpu/launch.hpp"

namespace occbench {

/// What the host and the kernel that blocks a stream tell each other.
struct StreamGate {
  int released = 0;  ///< by the host
  int gave_up = 0;   ///< by the kernel: the host kept it waiting for too long
};

/// Times launches by device events. The events and the launch are queued behind a kernel that blocks the
/// stream until the host has queued all of them; without it, an event pair around a launch on an idle stream
/// reads several microseconds of the host's own time.
class LaunchTimer {
 public:
  /// Queues something on a stream, without waiting for the device.
  using Queue = std::function<void(cudaStream_t)>;

  /// @throws CudaError
  LaunchTimer();

  /// Microseconds that what `work_queue` queues on the stream takes on the device: what an event pair around
  /// it reads, less what a pair with nothing in between reads. What it launches must have been launched once
  /// before (modules load on first use, which waits).
  /// @param before queues what has to be done first and is not timed
  /// @throws CudaError, also for a fault of the launch itself; std::runtime_error if the host was held up for
  /// so long, time and again, that the stream went on without it
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

/// Empties a device's L2 cache of what launches left there, by reading more than it holds. What was written is
/// then in memory: no line is left to be written back during the launch that follows.
class L2Flush {
 public:
  explicit L2Flush(std::size_t l2_bytes);

  /// Queues the reading. The first call allocates the memory that is read. @throws CudaError
  void queue(cudaStream_t stream);

 private:
  std::size_t bytes_;
  std::optional<DeviceBuffer<std::uint32_t>> memory_;
};

}  // namespace occbench
