#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace occbench {

/// A bench binary of launches that are part of no suite, and what the user says of it.
struct ToolProgram {
  std::string name;  ///< "calibration", "validation"
  std::string device = "auto";
  std::filesystem::path benches = {};  ///< folder that it lies in; empty: that of this program
};

/// `--device` and `--benches`.
void declare_options(CLI::App& parser, ToolProgram& program);

/// Measures its launches in a process of their own, so that a fault of one ends no more than that. What the
/// process prints is shown where it fails.
/// @param takes      how long, for the user: "some 20 s"
/// @param arguments  further ones
/// @returns what it ended with; no_verdict where there is no GPU
ExitStatus measure(const ToolProgram& program, const std::string& takes,
                   const std::vector<std::string>& arguments, Console& console);

}  // namespace occbench
