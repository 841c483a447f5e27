#include "measure/metric_catalog.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "measure/cupti.hpp"

namespace occbench {
namespace {

constexpr int kCuptiSuccess = 0;

/// Levenshtein's distance: letters to insert, take out or exchange.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, exchanged}));
    }
  }
  return row.back();
}

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

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> known,
                                       std::size_t count) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const std::string& name : known) ranked.emplace_back(edit_distance(wanted, name), name);
  const std::size_t kept = std::min(count, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept), ranked.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < kept; ++i) nearest.emplace_back(ranked[i].second);
  return nearest;
}

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
