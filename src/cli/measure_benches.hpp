#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/bench_plan.hpp"

namespace occbench {

/// Measures the cases of benches, one process after another, with their progress; then says what is not as it
/// should be. The user can end it with Ctrl-C.
/// @param resuming  the command line that goes on with it, for a shell
/// @returns no_verdict where something that was asked for was not measured
/// @throws InputError if the file cannot be written, or resumed
ExitStatus measure_benches(const RunOptions& options, std::vector<Bench> benches,
                           const std::filesystem::path& out, const std::string& resuming, Console& console);

}  // namespace occbench
