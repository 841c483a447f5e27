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

  /// Microseconds that what `queue` queues on the stream takes on the device: what an event pair around it
  /// reads, less what a pair with nothing in between reads. `queue` must not wait for the device, and what it
  /// launches must have been launched once before (modules load on first use, which waits).
  /// @throws CudaError, also for a fault of the launch itself.
  double microseconds(const std::function<void(cudaStream_t)>& queue);

  /// Microseconds that an event pair with nothing in between reads, median of several.
  double empty_pair_microseconds() const {
    return empty_pair_microseconds_;
  }

  const Stream& stream() const {
    return stream_;
  }

 private:
  double event_pair(const std::function<void(cudaStream_t)>& queue);

  Stream stream_;
  Event before_;
  Event after_;
  volatile int* released_ = nullptr;  ///< pinned host memory that the blocking kernel watches
  double empty_pair_microseconds_ = 0;
};

}  // namespace occbench
