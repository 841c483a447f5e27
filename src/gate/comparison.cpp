#include "gate/comparison.hpp"

#include <algorithm>
#include <utility>

namespace occbench {
namespace {

bool worse(const ComparedCase& left, const ComparedCase& right) {
  const auto gravest = [](const ComparedCase& compared) {
    std::pair<Grade, double> most{Grade::note, -1};
    for (const GateFinding& finding : compared.findings)
      most = std::max(most, std::pair(finding.grade, finding.weight));
    return most;
  };
  return gravest(left) > gravest(right);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::no_verdict:
      return "no verdict";
    case Verdict::regression:
      return "regression";
  }
  return "";
}

std::string_view to_string(Grade grade) {
  switch (grade) {
    case Grade::note:
      return "note";
    case Grade::advisory:
      return "advisory";
    case Grade::no_verdict:
      return "no verdict";
    case Grade::regression:
      return "regression";
  }
  return "";
}

std::string ComparedCase::full_name() const {
  return experiment + "/" + name;
}

Verdict ComparedCase::verdict() const {
  const Grade gravest =
      findings.empty() ? Grade::note : std::ranges::max(findings, {}, &GateFinding::grade).grade;
  if (gravest == Grade::regression) return Verdict::regression;
  return gravest == Grade::no_verdict ? Verdict::no_verdict : Verdict::pass;
}

bool ComparedCase::not_compared() const {
  return !compared && verdict() == Verdict::pass;
}

void Comparison::sort_worst_first() {
  std::ranges::stable_sort(cases, worse);
}

Verdict Comparison::verdict() const {
  if (count(Verdict::regression) > 0) return Verdict::regression;
  const bool doubt =
      std::ranges::any_of(general, [](const GateFinding& f) { return f.grade == Grade::no_verdict; });
  const bool looked = std::ranges::any_of(cases, &ComparedCase::compared);
  return doubt || !looked || count(Verdict::no_verdict) > 0 ? Verdict::no_verdict : Verdict::pass;
}

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(cases, verdict, &ComparedCase::verdict));
}

}  // namespace occbench
