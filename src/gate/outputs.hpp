#pragma once

#include <map>
#include <string>

#include "gate/compare.hpp"

namespace occbench {

/// "regression: 24 cases, 2 regression, 1 no verdict, 20 pass, 1 not compared"
std::string headline(const Comparison& comparison);

/// What the smallest regressions are that the rules would have found, in a sentence.
std::string smallest_regression(const Comparison& comparison);

/// What is said of a case: its gravest findings, separated by semicolons.
std::string reason(const ComparedCase& compared);

/// For a terminal.
std::string comparison_table(const Comparison& comparison);
/// For the summary of a GitHub job.
std::string comparison_markdown(const Comparison& comparison);
/// GitHub's workflow commands ::error and ::warning.
std::string comparison_annotations(const Comparison& comparison);
/// JUnit's XML.
std::string comparison_junit(const Comparison& comparison);
/// Everything.
std::string comparison_json(const Comparison& comparison);

// What the candidate measured, whatever the verdict.

/// What benchmark-action/github-action-benchmark reads: its tools customBiggerIsBetter and customSmallerIsBetter.
std::string comparison_github_action_benchmark(const Comparison& comparison, bool bigger_is_better);
/// Bencher Metric Format, bencher.dev's adapter `json`.
std::string comparison_bencher(const Comparison& comparison);

struct GateFormat {
  std::string (*text)(const Comparison&);
  std::string begins;  ///< a regular expression
};

/// All of them by the names of --format and --write.
extern const std::map<std::string, GateFormat> kGateFormats;

}  // namespace occbench
