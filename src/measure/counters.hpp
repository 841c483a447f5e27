#pragma once

#include <functional>
#include <memory>
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
  ~Counters();
  Counters(Counters&&) noexcept;
  Counters& operator=(Counters&&) noexcept;

  /// Calls `launch` once for each reading and pass; it must queue the launch and wait until it has ended.
  /// @param before is called ahead of each launch and not counted; likewise
  /// Starting and stopping a session takes longer the more units of the chip `metrics` come from.
  /// @param metrics CUPTI metric names, all collected together; those that this GPU does not have are left
  /// out.
  /// @throws CountersUnavailable; whatever `launch` throws, after which the object is still usable.
  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before = {});

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

/// The hardware metrics of a GPU's chip by name, as CUPTI knows them; reading one may still need permission.
class MetricCatalog {
 public:
  /// @throws CountersUnavailable
  explicit MetricCatalog(const Device& device);
  /// Of a chip by CUPTI's name, as GH100; needs no GPU. @throws CountersUnavailable
  explicit MetricCatalog(const std::string& chip);
  ~MetricCatalog();
  MetricCatalog(MetricCatalog&&) noexcept;
  MetricCatalog& operator=(MetricCatalog&&) noexcept;

  const std::string& chip() const;

  /// Whether a full name, as sm__warps_active.avg.per_cycle_active, is a metric.
  bool has(const std::string& metric) const;

  /// Full names that are metrics and most like `metric`, best first, at most `count`.
  std::vector<std::string> nearest(const std::string& metric, std::size_t count) const;

  /// Times that a launch has to be repeated to read all of `metrics`, which must be metrics.
  /// @throws CountersUnavailable
  std::size_t passes(const std::vector<std::string>& metrics) const;

 private:
  class Names;
  std::unique_ptr<Names> names_;
};

}  // namespace occbench
