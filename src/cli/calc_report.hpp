#pragma once

#include <span>
#include <string>

#include "cli/calc_answer.hpp"

namespace occbench {

/// All answers to one question for a terminal: occupancy, a line a resource, the rules applied, the device,
/// what to do (calc_advice.hpp), the nearest steps.
std::string calc_report(const Question& question, std::span<const std::string> what_to_do);

}  // namespace occbench
