#pragma once

#include <string>

#include "cli/calc_answer.hpp"

namespace occbench {

/// All answers to one question for a terminal: occupancy, a line a resource, the rules applied, the device,
/// what to do, the nearest steps.
std::string calc_report(const Question& question);

}  // namespace occbench
