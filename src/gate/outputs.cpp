#include "gate/outputs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "record/statistics.hpp"

namespace occbench {
namespace {

struct Caught {
  double typical;
  double worst;
  std::string where;  ///< the case of the worst
};

std::optional<Caught> summarize(const Comparison& comparison, std::optional<double> ComparedCase::*member) {
  std::vector<double> values;
  const ComparedCase* worst = nullptr;
  for (const ComparedCase& compared : comparison.cases) {
    const std::optional<double>& value = compared.*member;
    if (!value) continue;
    values.push_back(*value);
    if (worst == nullptr || *value > *(worst->*member)) worst = &compared;
  }
  if (worst == nullptr) return std::nullopt;
  return Caught{median(values), *(worst->*member), worst->full_name()};
}

std::string sentence(const Caught& caught, std::string_view unit, std::string_view what) {
  return fmt::format("{:.2g} {} of {} at the median case, {:.2g} at worst ({})", caught.typical, unit, what,
                     caught.worst, caught.where);
}

}  // namespace

std::string write_comparison(const Comparison& comparison, GateFormat format) {
  switch (format) {
    case GateFormat::table:
      return comparison_table(comparison);
    case GateFormat::markdown:
      return comparison_markdown(comparison);
    case GateFormat::annotations:
      return comparison_annotations(comparison);
    case GateFormat::junit:
      return comparison_junit(comparison);
    case GateFormat::json:
      return comparison_json(comparison);
    case GateFormat::github_action_benchmark_bigger:
      return comparison_github_action_benchmark(comparison, true);
    case GateFormat::github_action_benchmark_smaller:
      return comparison_github_action_benchmark(comparison, false);
    case GateFormat::bencher:
      return comparison_bencher(comparison);
  }
  return "";
}

std::string headline(const Comparison& comparison) {
  const auto not_compared =
      static_cast<std::size_t>(std::ranges::count_if(comparison.cases, &ComparedCase::not_compared));
  const std::pair<std::size_t, std::string_view> counts[] = {
      {comparison.count(Verdict::regression), to_string(Verdict::regression)},
      {comparison.count(Verdict::no_verdict), to_string(Verdict::no_verdict)},
      {comparison.count(Verdict::pass) - not_compared, to_string(Verdict::pass)},
      {not_compared, "not compared"}};
  std::string text = fmt::format("{}: {} cases", to_string(comparison.verdict()), comparison.cases.size());
  for (const auto& [count, what] : counts) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  }
  return text;
}

std::string smallest_regression(const Comparison& comparison) {
  const std::optional<Caught> points = summarize(comparison, &ComparedCase::caught_points);
  const std::optional<Caught> time = summarize(comparison, &ComparedCase::caught_time_pct);
  std::string text =
      "Smallest regression that would have been found: one more register or byte of shared memory or spills, "
      "any "
      "loss of theory";
  if (!points && !time) {
    const bool looked = comparison.count(Verdict::regression) > 0 ||
                        std::ranges::any_of(comparison.cases, &ComparedCase::compared);
    return looked ? text + "; no measurements were compared." : "No regression could have been found.";
  }
  if (points) text += "; " + sentence(*points, "points", "achieved occupancy");
  text += time ? "; " + sentence(*time, "%", "time") : "; time is advisory";
  return text + ".";
}

std::string reason(const ComparedCase& compared) {
  std::string text;
  for (const GateFinding& finding : compared.findings) {
    if (finding.grade != compared.findings.front().grade && finding.grade != Grade::note) continue;
    text += (text.empty() ? "" : "; ") + finding.message;
  }
  return text;
}

}  // namespace occbench
