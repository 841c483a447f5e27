#pragma once

#include <functional>

#include "gpu/resources.hpp"

namespace occbench {

/// Times launches by device events. The events and the launch are queued behind a kernel that blocks the
/// stream until the host has queued all of them; without it, an event pair around a launch on an idle stream
/// reads several microseconds of the host's own time.
class LaunchTimer {
 public:
  /// @throws CudaError
  LaunchTimer();
  ~LaunchTimer();
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  /// Microseconds on the device from before to after what `queue` queues on the stream. `queue` must not wait
  /// for the device, and what it launches must have been launched once before (modules load on first use,
  /// which waits).
  /// @throws CudaError, also for a fault of the launch itself.
  double microseconds(const std::function<void(cudaStream_t)>& queue);

  const Stream& stream() const {
    return stream_;
  }

 private:
  Stream stream_;
  Event before_;
  Event after_;
  volatile int* released_ = nullptr;  ///< pinned host memory that the blocking kernel watches
};

}  // namespace occbench
