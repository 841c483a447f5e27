#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/device.hpp"

namespace occbench {

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
