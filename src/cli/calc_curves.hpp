#pragma once

#include <string>
#include <vector>

#include "cli/calc_answer.hpp"

namespace occbench {

/// The three classic curves for a terminal, with the current point.
std::string draw_curves(const Question& question);

/// The points of the three classic curves as rows that `report` and `gate` read: experiment `curves`, a case
/// for each axis and value, `parameters` = axis and current. Beside the table's columns axis, value (on it),
/// current (1 = the question's own configuration) and warps_per_sm.
std::vector<nlohmann::ordered_json> curve_rows(const Question& question);

}  // namespace occbench
