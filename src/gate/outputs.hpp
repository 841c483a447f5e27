#pragma once

#include <map>
#include <string>

#include "gate/compare.hpp"

namespace occbench {

/// "regression: 24 cases, 2 regression, 1 no verdict, 20 pass, 1 not compared"
std::string headline(const Comparison& comparison);

/// A sentence on the smallest regressions that the rules would have found.
std::string smallest_regression(const Comparison& comparison);

/// The most severe findings of a case, separated by semicolons.
std::string reason(const ComparedCase& compared);

struct GateFormat {
  std::string (*text)(const Comparison&);
  std::string begins;  ///< a regular expression
};

/// All formats by their names in --format and --write.
extern const std::map<std::string, GateFormat> kGateFormats;

}  // namespace occbench
