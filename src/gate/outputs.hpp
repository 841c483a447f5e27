#pragma once

#include <string>

#include "gate/compare.hpp"

namespace occbench {

/// How what came of a comparison is written.
enum class GateFormat {
  table,        ///< for a terminal
  markdown,     ///< for the summary of a GitHub job
  annotations,  ///< GitHub's workflow commands ::error and ::warning
  junit,        ///< JUnit's XML
  json,         ///< everything
  /// What benchmark-action/github-action-benchmark reads: its tools customBiggerIsBetter and
  /// customSmallerIsBetter.
  github_action_benchmark_bigger,
  github_action_benchmark_smaller,
  bencher,  ///< Bencher Metric Format, bencher.dev's adapter `json`
};

/// The last three write what the candidate measured, whatever the verdict.
std::string write_comparison(const Comparison& comparison, GateFormat format);

/// "regression: 24 cases, 2 regression, 1 no verdict, 20 pass, 1 not compared"
std::string headline(const Comparison& comparison);

/// What the smallest regressions are that the rules would have found, in a sentence.
std::string smallest_regression(const Comparison& comparison);

/// What is said of a case: its gravest findings, separated by semicolons.
std::string reason(const ComparedCase& compared);

// One a format.
std::string comparison_table(const Comparison& comparison);
std::string comparison_markdown(const Comparison& comparison);
std::string comparison_annotations(const Comparison& comparison);
std::string comparison_junit(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
std::string comparison_github_action_benchmark(const Comparison& comparison, bool bigger_is_better);
std::string comparison_bencher(const Comparison& comparison);

}  // namespace occbench
