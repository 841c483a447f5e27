#include "diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include <fmt/core.h>

#include "diagnose/fit.hpp"
#include "diagnose/time_saved.hpp"

namespace occbench {
namespace {

struct CauseRule {
  Cause cause;
  std::optional<Claim> (*claim)(const Situation&);
};

constexpr CauseRule kRules[] = {
#define OCC_CAUSE(NAME, MEANING) {Cause::NAME, NAME},
#include "diagnose/causes.inc"
};

std::string points_text(double points) {
  const std::string number = points < 1.5 ? fmt::format("{:.1f}", points) : fmt::format("{:.0f}", points);
  return fmt::format("{} point{}", number, number == "1.0" ? "" : "s");
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

FindingList list_of(Part part) {
  if (part == Part::theory) return FindingList::limits;
  return part == Part::beside ? FindingList::remarks : FindingList::losses;
}

/// Whether what a cause advises is for whoever wrote the kernel.
bool advises_the_author(Cause cause) {
  return cause != Cause::another_launch && cause != Cause::prediction_differs && cause != Cause::unexplained;
}

Finding finding_of(CauseClaim each, const Situation& situation) {
  Claim& claim = each.claim;
  std::string sentence = claim.points > 0 ? fmt::format("{}: {}.", points_text(claim.points), claim.because)
                                          : capitalized(claim.because) + ".";
  Finding finding{.cause = each.cause,
                  .points = claim.points,
                  .list = list_of(claim.part),
                  .confidence = claim.confidence,
                  .evidence = claim.evidence,
                  .sentence = std::move(sentence),
                  .remedy = claim.remedy,
                  .advice = claim.advice,
                  .time = time_saved(each.cause, claim, situation)};
  if (const KernelLibrary* library = situation.facts.library; library && advises_the_author(each.cause)) {
    finding.remedy = fmt::format("This kernel belongs to {}: its caller can {}.", library->name,
                                 library->caller_can_change);
    finding.advice.reset();
  }
  return finding;
}

/// The measurement that tells most about what is not explained, as a command.
std::string what_would_settle(const Situation& situation) {
  if (!situation.achieved_pct)
    return "Measure achieved occupancy: `ncu --metrics sm__warps_active.avg.pct_of_peak_sustained_active "
           "PROGRAM`.";
  if (situation.parts) return "`ncu --section WarpStateStats PROGRAM` shows what its warps wait for.";
  return "`ncu --metrics sm__ctas_active.avg.per_cycle_active,sm__cycles_active.avg PROGRAM` reads the "
         "resident blocks "
         "(--resident-blocks), which show whether places had no block, and the active cycles "
         "(--sm-cycles-active-avg), which show whether blocks are short.";
}

CauseClaim unexplained(const Situation& situation, double points) {
  return {Cause::unexplained,
          {.points = points,
           .evidence = evidence_of({{"theoretical_pct", situation.theoretical_pct},
                                    {"achieved_pct", situation.achieved_pct},
                                    {"resident_blocks", situation.counters().resident_blocks}}),
           .because = "no cause has evidence for them",
           .remedy = what_would_settle(situation)}};
}

/// Leaves out what is not explained and the smallest losses, as long as all that are left out stay below kLeastPoints
/// together.
void leave_out_small(std::vector<CauseClaim>& claims) {
  std::ranges::stable_sort(claims, {}, [](const CauseClaim& each) {
    return std::pair(each.cause != Cause::unexplained, each.claim.points);
  });
  double left_out = 0;
  std::erase_if(claims, [&](const CauseClaim& each) {
    if (each.claim.part == Part::beside || left_out + each.claim.points >= kLeastPoints) return false;
    left_out += each.claim.points;
    return true;
  });
}

/// Before larger losses: a counter that is another launch's, which says nothing of this one, and spills, which cost
/// time whatever the occupancy.
bool comes_first(const Finding& finding) {
  return finding.cause == Cause::another_launch || finding.cause == Cause::spills;
}

}  // namespace

std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns) {
  std::vector<Evidence> evidence;
  for (const auto& [column, value] : columns) {
    if (value) evidence.push_back({column, *value});
  }
  return evidence;
}

std::vector<Finding> diagnose(const LaunchFacts& facts) {
  const std::optional<Situation> situation = situation_of(facts);
  if (!situation) return {};
  std::vector<CauseClaim> claims;
  for (const CauseRule& rule : kRules) {
    if (std::optional<Claim> claim = rule.claim(*situation))
      claims.push_back({rule.cause, std::move(*claim)});
  }
  claims.push_back(unexplained(*situation, fit(claims, *situation)));
  leave_out_small(claims);
  std::vector<Finding> findings;
  for (CauseClaim& each : claims) findings.push_back(finding_of(std::move(each), *situation));
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::points);
  std::stable_partition(findings.begin(), findings.end(), comes_first);
  return findings;
}

std::string explanation_of(const LaunchFacts& facts, const std::vector<Finding>& findings) {
  const auto faster = std::ranges::find(findings, Cause::faster_build, &Finding::cause);
  if (faster != findings.end() && faster != findings.begin())
    return findings.front().sentence + " " + faster->sentence;
  if (!findings.empty()) return findings.front().sentence;
  if (!situation_of(facts)) return "";
  return facts.readings.counters.achieved_pct || facts.prediction ? "Within half a point of full occupancy."
                                                                  : "";
}

std::string explanation_of(const LaunchFacts& facts) {
  return explanation_of(facts, diagnose(facts));
}

}  // namespace occbench
