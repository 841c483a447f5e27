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

/// What the harness asks of the device, and the only part of it that a test without a GPU replaces.
class Instruments {
 public:
  virtual ~Instruments() = default;

  /// As occbench::inspect.
  virtual Compiled inspect(const Variant& variant) = 0;

  /// Where launches are queued.
  virtual cudaStream_t stream() = 0;

  /// Waits for what was queued. @throws CudaError for a fault of it.
  virtual void synchronize() = 0;

  /// As LaunchTimer::microseconds, after what make_ready does.
  virtual double microseconds(const std::function<void(cudaStream_t)>& queue, bool cold) = 0;

  /// Does what comes before a launch that is measured, and waits: sets which GPC begins, where that can be
  /// set (FirstGpc). @param cold the L2 cache is emptied first
  virtual void make_ready(bool cold) = 0;

  /// The GPC that measured launches began with since this was last asked: its place in the dispatch order, in
  /// which that of SM 0 has 0; empty where one of them was left to what ran before.
  virtual std::optional<int> first_gpc() = 0;

  /// Reads these counters of a launch that is no case's: whether that goes, and the set-up that readings of the
  /// same list then find. @throws CountersUnavailable
  virtual void set_up_counters(const std::vector<std::string>& metrics) = 0;

  /// As Counters::read; after an exception the next call begins again.
  virtual CounterReadings count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                                const std::function<void()>& before) = 0;

  /// As PmSampling::sample.
  virtual ActivitySamples sample(double expected_us, const std::function<void()>& launch) = 0;

  /// As GpuMonitor::condition.
  virtual GpuCondition condition() = 0;

  /// As GpuMonitor::settings.
  virtual std::string gpu_settings() = 0;

  /// As MetricCatalog's constructor.
  virtual MetricCatalog metric_catalog() = 0;

  /// As occbench::context_is_lost.
  virtual bool context_is_lost() = 0;
};

/// @param readings launches of a call of `count`
/// @throws CudaError
std::unique_ptr<Instruments> make_gpu_instruments(const Device& device, int readings);

/// Where there is no device: nothing can be asked, and everything throws GpuUnavailable.
std::unique_ptr<Instruments> make_no_instruments();

}  // namespace occbench
