#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace occbench {

/// Measures the launches of a bench binary that is part of no suite, in a process of its own, so that a fault
/// of one ends no more than that. What it prints is shown where it fails.
/// @param benches    folder that it lies in; empty: that of this program
/// @param name       "calibration", "validation"
/// @param takes      how long, for the user: "some 20 s"
/// @param arguments  after --occ_counters=require
/// @returns what it ended with; no_verdict where there is no GPU
ExitStatus measure_apart(const std::filesystem::path& benches, const std::string& name,
                         const std::string& takes, const std::vector<std::string>& arguments,
                         Console& console);

}  // namespace occbench
