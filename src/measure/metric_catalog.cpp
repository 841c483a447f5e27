#include "measure/metric_catalog.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "measure/cupti.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

constexpr int kCuptiSuccess = 0;

/// Where the roll-up of a full name begins: behind the base metric, whose own name may have points in front
/// of its "__", as in TPC.TriageCompute.tpc__warps_active_realtime.sum.
std::size_t end_of_base(std::string_view metric) {
  const std::size_t unit = metric.find("__");
  return std::min(metric.find('.', unit == std::string_view::npos ? 0 : unit), metric.size());
}

std::string chip_of(const Device& device) {
  return supported_chip(Cupti({}), device.index, Profiler::range);
}

}  // namespace

class MetricCatalog::Names {
 public:
  explicit Names(std::string chip)
      : cupti_({}), chip_(std::move(chip)), host_(cupti_, Profiler::range, chip_, {}) {}

  const std::string& chip() const {
    return chip_;
  }
  const MetricHost& host() const {
    return host_;
  }

  /// A host object of its own, for what is added to one stays with it.
  std::size_t passes(const std::vector<std::string>& metrics) const {
    MetricHost host(cupti_, Profiler::range, chip_, {});
    Cupti::require(host.try_add(metrics), "cuptiProfilerHostConfigAddMetrics");
    std::vector<std::uint8_t> config = host.config_image();
    return passes_of(cupti_, config);
  }
  bool has(const std::string& metric) const {
    return MetricHost(cupti_, Profiler::range, chip_, {}).try_add({metric}) == kCuptiSuccess;
  }

 private:
  Cupti cupti_;
  std::string chip_;
  MetricHost host_;
};

MetricCatalog::MetricCatalog(const Device& device) : MetricCatalog(chip_of(device)) {}
MetricCatalog::MetricCatalog(const std::string& chip) : names_(std::make_unique<Names>(chip)) {}
MetricCatalog::~MetricCatalog() = default;
MetricCatalog::MetricCatalog(MetricCatalog&&) noexcept = default;
MetricCatalog& MetricCatalog::operator=(MetricCatalog&&) noexcept = default;

const std::string& MetricCatalog::chip() const {
  return names_->chip();
}

bool MetricCatalog::has(const std::string& metric) const {
  return names_->has(metric);
}

std::vector<std::string> MetricCatalog::nearest(const std::string& metric, std::size_t count) const {
  const std::size_t split = end_of_base(metric);
  const std::string wanted_base = metric.substr(0, split);
  const std::string wanted_rollup = metric.substr(split);
  std::vector<std::string> names;
  for (const std::string& base : nearest_names(wanted_base, names_->host().base_metrics(), count)) {
    const std::vector<std::string> rollups = names_->host().sub_metrics(base);
    // Where the base is right it is the roll-up that is in question.
    const std::size_t of_this = base == wanted_base ? count : 1;
    for (const std::string& rollup : nearest_names(wanted_rollup, rollups, of_this)) {
      names.push_back(base + rollup);
    }
  }
  names.resize(std::min(names.size(), count));
  return names;
}

std::size_t MetricCatalog::passes(const std::vector<std::string>& metrics) const {
  return names_->passes(metrics);
}

}  // namespace occbench
