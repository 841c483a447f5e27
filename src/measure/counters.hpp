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

/// Reads hardware counters of launches through CUPTI's Range Profiler: one user range per launch, all
/// launches of a reading in one Start and Stop. The GPU is observed only between those two, so other launches
/// are undisturbed. One object per process and device; not thread-safe.
class Counters {
 public:
  /// @param readings launches that `read` makes in one session.
  /// @throws CountersUnavailable
  Counters(const Device& device, int readings, CuptiInterceptor intercept = {});

  /// Calls `launch` once for each reading and pass; it must queue the launch and wait until it has ended.
  /// @param before likewise, called before each launch and not counted. Sessions take longer to start and
  /// stop the more units of the chip `metrics` come from.
  /// @param metrics CUPTI metric names, all collected together; metrics that this GPU lacks are left out.
  /// @throws CountersUnavailable; rethrows exceptions of `launch`, after which the object is still usable.
  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before = {});

 private:
  /// Made once and reused for every case with these metrics.
  const MetricSet& metric_set(const std::vector<std::string>& metrics);
  /// A profiler keeps its first configuration until it is disabled.
  RangeProfiler& profiler_for(const MetricSet& set);
  /// @returns whether every pass has now been submitted.
  bool run_pass(RangeProfiler& profiler, const std::function<void()>& launch,
                const std::function<void()>& before);

  // Order matters: each is built from the members above it and must be destroyed before them.
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
  /// For a chip by CUPTI's name, such as GH100; needs no GPU. @throws CountersUnavailable
  explicit MetricCatalog(std::string chip);

  const std::string& chip() const {
    return chip_;
  }

  /// Whether a full name, as sm__warps_active.avg.per_cycle_active, is a metric.
  bool has(const std::string& metric) const;

  /// At most `count` full names of metrics most similar to `metric`, best first.
  std::vector<std::string> nearest(const std::string& metric, std::size_t count) const;

  /// Launches needed to read all of `metrics`, which must be metrics.
  /// @throws CountersUnavailable
  std::size_t passes(const std::vector<std::string>& metrics) const;

 private:
  Cupti cupti_{CuptiInterceptor()};
  std::string chip_;
  MetricHost host_;
};

}  // namespace occbench
