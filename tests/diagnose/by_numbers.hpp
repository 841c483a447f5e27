#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "diagnose/diagnose.hpp"
#include "diagnose/situation.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

/// What somebody who stands before a profiler's page knows of a launch.
inline LaunchFacts by_numbers(const char* capability, int sm_count, Launch launch, Usage usage,
                              std::optional<double> achieved_pct = std::nullopt) {
  const Limits& limits = limits_of(parse_compute_capability(capability));
  LaunchFacts facts{.limits = &limits,
                    .sm_count = sm_count,
                    .launch = launch,
                    .compiled = Compiled{.usage = usage, .code_architecture = {}},
                    .theoretical_pct = theoretical_occupancy(limits, launch, usage).theoretical_pct};
  facts.readings.counters.achieved_pct = achieved_pct;
  return facts;
}

inline std::optional<Finding> find(const std::vector<Finding>& findings, Cause cause) {
  const auto found = std::ranges::find(findings, cause, &Finding::cause);
  return found == findings.end() ? std::nullopt : std::optional(*found);
}

/// @throws std::out_of_range where there is none
inline Finding the(const std::vector<Finding>& findings, Cause cause) {
  if (const auto found = find(findings, cause)) return *found;
  throw std::out_of_range(fmt::format("no finding of {}", to_string(cause)));
}

inline double value_of(const Finding& finding, std::string_view column) {
  const auto found = std::ranges::find(finding.evidence, column, &Evidence::column);
  return found == finding.evidence.end() ? -1 : found->value;
}

/// Of the H200's recorded suite, whose rows have all uses of units; those of the H100 have two pipes.
inline std::vector<Finding> findings_of(const std::string& name, const std::string& model = "nvidia-h200") {
  for (const CaseRecord& record :
       read_case_records(fmt::format("{}/results/{}/full.csv", OCCBENCH_SOURCE_DIR, model))) {
    if (full_name(record.identity) == name) return diagnose(facts_of(record));
  }
  ADD_FAILURE() << "no row is called " << name;
  return {};
}

inline TimeSaved saved_by(const LaunchFacts& facts, Cause cause) {
  const auto findings = diagnose(facts);
  const auto finding = find(findings, cause);
  return !finding || !finding->time ? TimeSaved{-1, ""} : *finding->time;
}

}  // namespace occbench
