#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "gate/outputs.hpp"
#include "gate/quantities.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const GateFinding& finding) {
  return {{"grade", to_string(finding.grade)},
          {"subject", finding.subject},
          {"baseline", finding.baseline},
          {"candidate", finding.candidate},
          {"message", finding.message}};
}

Json to_json(const std::vector<GateFinding>& findings) {
  Json list = Json::array();
  for (const GateFinding& finding : findings) list.push_back(to_json(finding));
  return list;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const ComparedCase& compared) {
  Json object = {{"experiment", compared.experiment}, {"case", compared.name}};
  if (!compared.file.empty()) object["file"] = compared.file;
  object["verdict"] = to_string(compared.verdict());
  object["smallest_regression_points"] = number_or_null(compared.caught_points);
  object["smallest_regression_time_pct"] = number_or_null(compared.caught_time_pct);
  object["findings"] = to_json(compared.findings);
  return object;
}

/// A value of the candidate, and where it is known the range of its middle half.
struct Metric {
  std::string name;
  std::string unit;
  bool bigger_is_better;
  double value;
  std::optional<double> lower;
  std::optional<double> upper;
};

std::vector<Metric> metrics_of(const ComparedCase& compared) {
  std::vector<Metric> metrics;
  const Row& row = compared.candidate->row;
  if (row.theoretical_pct) metrics.push_back({"theoretical_pct", "%", true, *row.theoretical_pct, {}, {}});
  for (const Quantity& quantity : measured_quantities()) {
    const Real value = quantity.value(row);
    if (!value) continue;
    Metric& metric =
        metrics.emplace_back(Metric{std::string(quantity.name),
                                    quantity.name.ends_with("_pct") ? "%" : std::string(quantity.unit),
                                    quantity.higher_is_better,
                                    *value,
                                    {},
                                    {}});
    if (const Real spread = quantity.spread(*compared.candidate)) {
      metric.lower = *value - *spread / 2;
      metric.upper = *value + *spread / 2;
    }
  }
  if (row.time_us) {
    const double half = *row.time_us * row.time_spread_pct.value_or(0) / 200;
    metrics.push_back({"time_us", "us", false, *row.time_us, *row.time_us - half, *row.time_us + half});
  }
  return metrics;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json root = {{"verdict", to_string(comparison.verdict())},
               {"simulated", comparison.simulated},
               {"baseline", comparison.baseline},
               {"candidate", comparison.candidate},
               {"headline", headline(comparison)},
               {"smallest_regression", smallest_regression(comparison)},
               {"general", to_json(comparison.general)}};
  Json& cases = root["cases"] = Json::array();
  for (const ComparedCase& compared : comparison.cases) cases.push_back(to_json(compared));
  return json_text(root) + "\n";
}

// Fields as in the action's README, "Use this action with custom benchmarks".
std::string comparison_github_action_benchmark(const Comparison& comparison, bool bigger_is_better) {
  Json list = Json::array();
  for (const ComparedCase& compared : comparison.cases) {
    if (!compared.candidate) continue;
    for (const Metric& metric : metrics_of(compared)) {
      // The action alerts on ratios, which say nothing of a difference near 0.
      if (metric.bigger_is_better != bigger_is_better || metric.unit == "points") continue;
      Json& entry = list.emplace_back();
      entry["name"] = fmt::format("{} {}", compared.full_name(), metric.name);
      entry["unit"] = metric.unit;
      entry["value"] = metric.value;
      if (metric.lower && metric.upper)
        entry["range"] = fmt::format("± {:.4g}", (*metric.upper - *metric.lower) / 2);
      entry["extra"] = compared.candidate->row.gpu;
    }
  }
  return json_text(list) + "\n";
}

// bencher.dev, reference, "Bencher Metric Format". Its built-in measure `latency` is in nanoseconds.
std::string comparison_bencher(const Comparison& comparison) {
  Json root = Json::object();
  for (const ComparedCase& compared : comparison.cases) {
    if (!compared.candidate) continue;
    Json measures = Json::object();
    for (const Metric& metric : metrics_of(compared)) {
      const bool time = metric.name == "time_us";
      const double scale = time ? 1000 : 1;
      Json& measure = measures[time ? "latency" : metric.name];
      measure["value"] = scale * metric.value;
      if (metric.lower) measure["lower_value"] = scale * *metric.lower;
      if (metric.upper) measure["upper_value"] = scale * *metric.upper;
    }
    if (!measures.empty()) root[compared.full_name()] = measures;
  }
  return json_text(root) + "\n";
}

}  // namespace occbench
