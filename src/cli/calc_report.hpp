#pragma once

#include <string>

#include "cli/calc_answer.hpp"

namespace occbench {

/// All answers to one question for a terminal: occupancy, a line a resource, the device, the cliffs.
std::string calc_report(const Question& question);

/// The three classic curves for a terminal, with the current point.
std::string calc_curves(const Question& question);

}  // namespace occbench
