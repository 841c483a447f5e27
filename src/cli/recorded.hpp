#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace occbench {

/// Folders that may hold `results/` and `scripts/` of the project: the share folder of an installation, those
/// above this program (a bundle, or a build folder in the source tree), those above the current folder, and the
/// source tree that this program was built from.
std::vector<std::filesystem::path> project_roots();

/// The recorded suite that comes with the project, under `results/` of the first of project_roots() with one.
std::optional<std::filesystem::path> recorded_suite();

/// Shows the recorded rows that come with the project, theory computed again beside what the counter read.
/// @param filter as in case_filter
/// @returns no_verdict if theory no longer agrees with a recorded row, or no rows are found
ExitStatus show_recorded_rows(const std::string& filter, Console& console);

/// Prints the names of the recorded cases, one a line: which cases there are depends on the GPU's limits and
/// SMs, so that without one they are those of another.
/// @returns no_verdict if no rows are found
ExitStatus list_recorded_cases(const std::string& filter, Console& console);

}  // namespace occbench
