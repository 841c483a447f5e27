#include "record/prediction_errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace occbench {
namespace {

/// What the case was drawn for; of other cases their experiment.
std::string kind_of(const CaseIdentity& identity) {
  const std::string* const kind = find_parameter(identity, "kind");
  return kind == nullptr ? identity.experiment : *kind;
}

}  // namespace

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<ErrorsOfKind> errors_by_kind(const std::vector<CaseRecord>& cases) {
  std::vector<ErrorsOfKind> kinds;
  for (const CaseRecord& each : cases) {
    const std::string kind = kind_of(each.identity);
    auto of = std::ranges::find(kinds, kind, &ErrorsOfKind::kind);
    if (of == kinds.end()) of = kinds.insert(of, ErrorsOfKind{kind, {}, {}, {}, {}, 0});
    const CounterValues& counters = each.readings.counters;
    of->theory.push_back(std::abs(each.theory->theoretical_pct - *counters.achieved_pct));
    of->predicted.push_back(std::abs(each.prediction->predicted_pct - *counters.achieved_pct));
    of->widths.push_back(each.prediction->interval.width());
    if (each.prediction->interval.contains(*counters.achieved_pct)) ++of->inside;
    if (counters.sm_cycles_active_avg) {
      of->active_pct.push_back(
          100 * std::abs(each.prediction->cycles_active_mean / *counters.sm_cycles_active_avg - 1));
    }
  }
  return kinds;
}

}  // namespace occbench
