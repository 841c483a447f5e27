#pragma once

#include <span>

#include "harness/options.hpp"
#include "harness/plan.hpp"

namespace occbench {

/// Prints the cases as JSON, one a line, with what is known of them before a launch and no empty cell, or
/// writes them to Options::list_file as rows. With Options::predict also what is predicted: one simulated run
/// each, where a measured row has the median of nine. What goes beyond some seconds of simulation is left out,
/// the same on every machine, and standard error says of how many cases.
void list_cases(std::span<const PlannedCase> cases, const Device& device, const ChosenProfile& profile,
                const Options& options);

}  // namespace occbench
