#pragma once

#include <string>
#include <vector>

#include "record/case_record.hpp"

namespace occbench {

/// How far predictions and theory are from the counter, over the launches of one kind.
struct ErrorsOfKind {
  std::string kind;
  std::vector<double> theory;      ///< |theoretical - counter|, points
  std::vector<double> predicted;   ///< |predicted - counter|, points
  std::vector<double> active_pct;  ///< |predicted / measured - 1| of active cycles
  std::vector<double> widths;      ///< of the 90 % intervals, points
  int inside = 0;                  ///< launches whose counter is inside
};

double mean(const std::vector<double>& values);

/// In the order of their first cases, all of which have theory, a prediction and a counter's value.
std::vector<ErrorsOfKind> errors_by_kind(const std::vector<CaseRecord>& cases);

}  // namespace occbench
