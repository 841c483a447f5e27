#pragma once

#include <string>

#include "cli/command.hpp"
#include "orchestrate/installation.hpp"

namespace occbench {

/// Shows the recorded rows that come with the project, theory computed again beside what the counter read.
/// @param filter as in case_filter
/// @returns no_verdict if theory no longer agrees with a recorded row, or no rows are found
ExitStatus show_recorded_rows(const std::string& filter, Console& console);

/// Prints the names of the recorded cases, one a line: which cases there are depends on the GPU's limits and
/// SMs, so that without one they are those of another.
/// @returns no_verdict if no rows are found
ExitStatus list_recorded_cases(const std::string& filter, Console& console);

}  // namespace occbench
