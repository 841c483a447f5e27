#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "measure/cupti.hpp"
#include "measure/range_profiler.hpp"

namespace occbench {

/// Reads hardware counters of launches through CUPTI's Range Profiler: one user range a launch, all launches
/// of a reading in one Start and Stop. The GPU is only observed between those two, so that launches outside
/// are undisturbed. One object a process and device; not thread-safe.
class Counters {
 public:
  /// @param readings launches that `read` makes in one session.
  /// @throws CountersUnavailable
  Counters(const Device& device, int readings, CuptiInterceptor intercept = {});

  /// Calls `launch` once for each reading and pass; it must queue the launch and wait until it has ended.
  /// @param before is called ahead of each launch and not counted; likewise
  /// Starting and stopping a session takes longer the more units of the chip `metrics` come from.
  /// @param metrics CUPTI metric names, all collected together; those that this GPU does not have are left
  /// out.
  /// @throws CountersUnavailable; whatever `launch` throws, after which the object is still usable.
  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before = {});

 private:
  /// Made once and used for every case that asks for them.
  const MetricSet& metric_set(const std::vector<std::string>& metrics);
  /// A profiler keeps the first configuration that it is given until it is disabled.
  RangeProfiler& profiler_for(const MetricSet& set);
  /// @returns whether every pass has now been submitted.
  bool run_pass(RangeProfiler& profiler, const std::function<void()>& launch,
                const std::function<void()>& before);

  // Order matters: each is built from, and must be gone before, those above it.
  Cupti cupti_;
  std::size_t readings_;
  CUctx_st* context_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::map<std::vector<std::string>, MetricSet> sets_;
  std::optional<RangeProfiler> profiler_;
  const MetricSet* configured_for_ = nullptr;
};

/// The hardware metrics of a GPU's chip by name, as CUPTI knows them; reading one may still need permission.
class MetricCatalog {
 public:
  /// @throws CountersUnavailable
  explicit MetricCatalog(const Device& device);
  /// Of a chip by CUPTI's name, as GH100; needs no GPU. @throws CountersUnavailable
  explicit MetricCatalog(std::string chip);

  const std::string& chip() const {
    return chip_;
  }

  /// Whether a full name, as sm__warps_active.avg.per_cycle_active, is a metric.
  bool has(const std::string& metric) const;

  /// Full names that are metrics and most like `metric`, best first, at most `count`.
  std::vector<std::string> nearest(const std::string& metric, std::size_t count) const;

  /// Times that a launch has to be repeated to read all of `metrics`, which must be metrics.
  /// @throws CountersUnavailable
  std::size_t passes(const std::vector<std::string>& metrics) const;

 private:
  Cupti cupti_{CuptiInterceptor()};
  std::string chip_;
  MetricHost host_;
};

}  // namespace occbench
