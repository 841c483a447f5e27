#include "diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>

#include <fmt/core.h>

#include "diagnose/fit.hpp"

namespace occbench {
namespace {

std::string points_text(double points) {
  const std::string number = points < 1.5 ? fmt::format("{:.1f}", points) : fmt::format("{:.0f}", points);
  return fmt::format("{} point{}", number, number == "1.0" ? "" : "s");
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

Finding finding_of(CauseClaim each) {
  Claim& claim = each.claim;
  std::string sentence = claim.points > 0 ? fmt::format("{}: {}.", points_text(claim.points), claim.because)
                                          : capitalized(claim.because) + ".";
  return {.cause = each.cause,
          .points = claim.points,
          .of_theory = claim.part == Part::theory,
          .confidence = claim.confidence,
          .evidence = std::move(claim.evidence),
          .sentence = std::move(sentence),
          .remedy = std::move(claim.remedy)};
}

/// The single measurement that tells most about what is not explained.
std::string what_would_settle(const Situation& situation) {
  if (!situation.achieved_pct) return "Measure achieved occupancy.";
  if (!situation.parts) {
    return "Read sm__ctas_active.avg.per_cycle_active (resident_blocks): it parts places without a block "
           "from "
           "warps that have exited.";
  }
  return "Read the stall reasons of the warps, and compare the time with that of a launch of equal work.";
}

Finding unexplained(const Situation& situation, double points) {
  std::string sentence = fmt::format(
      "{} are explained by no cause: {}.", points_text(points),
      situation.parts ? "the launch does something that neither its counters nor a simulation show"
                      : "they are due to uneven work, contention or memory");
  return {.cause = Cause::unexplained,
          .points = points,
          .confidence = Confidence::inferred,
          .evidence = evidence_of({{"theoretical_pct", situation.theoretical_pct},
                                   {"achieved_pct", situation.achieved_pct},
                                   {"resident_blocks", situation.counters().resident_blocks}}),
          .sentence = std::move(sentence),
          .remedy = what_would_settle(situation)};
}

}  // namespace

std::vector<Finding> diagnose(const LaunchFacts& facts) {
  const std::optional<Situation> situation = situation_of(facts);
  if (!situation) return {};
  std::vector<CauseClaim> claims;
  for (const CauseRule& rule : cause_rules()) {
    if (std::optional<Claim> claim = rule.claim(*situation))
      claims.push_back({rule.cause, std::move(*claim)});
  }
  const double rest = fit(claims, *situation);
  std::vector<Finding> findings;
  for (CauseClaim& each : claims) {
    if (each.claim.part != Part::beside && each.claim.points < kLeastPoints) continue;
    findings.push_back(finding_of(std::move(each)));
  }
  if (rest >= kLeastPoints) findings.push_back(unexplained(*situation, rest));
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::points);
  // Where the counter is another launch's, that comes first: it says nothing of this one.
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding& finding) { return finding.cause == Cause::another_launch; });
  return findings;
}

std::string explanation_of(const LaunchFacts& facts, const std::vector<Finding>& findings) {
  if (!findings.empty()) return findings.front().sentence;
  if (!situation_of(facts)) return "";
  return facts.readings.counters.achieved_pct || facts.prediction ? "Within half a point of full occupancy."
                                                                  : "";
}

std::string explanation_of(const LaunchFacts& facts) {
  return explanation_of(facts, diagnose(facts));
}

}  // namespace occbench
