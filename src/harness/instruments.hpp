#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/kernel.hpp"
#include "measure/activity.hpp"
#include "measure/counters.hpp"
#include "measure/nvml.hpp"

namespace occbench {

/// The harness's access to the device, and the only part that a test without a GPU replaces. The base class has no
/// device: calls that need one throw GpuUnavailable.
class Instruments {
 public:
  virtual ~Instruments() = default;

  /// As occbench::inspect.
  virtual Compiled inspect(const Variant& /*variant*/) {
    refuse();
  }

  /// The stream of launches.
  virtual cudaStream_t stream() {
    refuse();
  }

  /// Waits for queued work. @throws CudaError for a fault in it.
  virtual void synchronize() {
    refuse();
  }

  /// As LaunchTimer::microseconds, after what make_ready does.
  virtual double microseconds(const std::function<void(cudaStream_t)>& /*queue*/, bool /*cold*/) {
    refuse();
  }

  /// Prepares a launch that is measured, and waits: sets the first GPC if that is possible (FirstGpc).
  /// @param cold the L2 cache is flushed first
  virtual void make_ready(bool /*cold*/) {
    refuse();
  }

  /// The first GPC of measured launches since the last call: its place in the dispatch order, in which that of SM 0
  /// has 0. Empty if a previous launch determined it for one of them. Forgets these launches.
  virtual std::optional<int> take_first_gpc() {
    return std::nullopt;
  }

  /// Reads these counters of a launch outside the cases: checks that it works, and sets up later readings of the same
  /// list. @throws CountersUnavailable
  virtual void set_up_counters(const std::vector<std::string>& /*metrics*/) {
    refuse();
  }

  /// As Counters::read; after an exception the next call begins again.
  virtual CounterReadings count(const std::vector<std::string>& /*metrics*/,
                                const std::function<void()>& /*launch*/,
                                const std::function<void()>& /*before*/) {
    refuse();
  }

  /// As sample_launch().
  virtual ActivitySamples sample(double /*expected_us*/, const std::function<void()>& /*launch*/) {
    refuse();
  }

  /// As GpuMonitor::condition.
  virtual GpuCondition condition() {
    return {};
  }

  /// As GpuMonitor::settings.
  virtual std::string gpu_settings() {
    return {};
  }

  /// As MetricCatalog's constructor.
  virtual MetricCatalog metric_catalog() {
    refuse();
  }

  /// As occbench::context_is_lost.
  virtual bool context_is_lost() {
    return false;
  }

 private:
  [[noreturn]] static void refuse();
};

/// @param readings launches of a call of `count`
/// @throws CudaError
std::unique_ptr<Instruments> make_gpu_instruments(const Device& device, int readings);

}  // namespace occbench
