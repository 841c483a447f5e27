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

struct GateFormat {
  std::string (*text)(const Comparison&);
  std::string begins;  ///< a regular expression
};

/// All of them by the names of --format and --write.
extern const std::map<std::string, GateFormat> kGateFormats;

}  // namespace occbench
