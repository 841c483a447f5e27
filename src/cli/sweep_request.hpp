#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/gpu_option.hpp"
#include "orchestrate/plan.hpp"

namespace occbench {

/// What `occbench sweep` was asked for, beside what it shares with `occbench run`.
struct SweepRequest {
  RunOptions run;
  std::string kernel;  ///< of a bench program; empty where there is a source
  std::vector<std::pair<std::string, std::string>> axes;  ///< name and values, in their order
  bool zip = false;
  std::vector<std::string> where;  ///< expressions that a configuration must meet

  bool fastest = false;          ///< find the fastest without measuring all
  std::optional<double> budget;  ///< seconds of that

  std::string source;  ///< a file with a kernel, and how to launch it
  std::vector<std::string> source_kernels;
  std::vector<std::string> arguments;
  std::vector<std::string> defines;
  std::vector<std::string> includes;
  std::string standard;
  std::string check;
  std::string check_against;
  std::optional<double> tolerance;

  GpuOption gpu;  ///< list for this GPU, which need not be here
};

/// Takes the words that are no options of the command: the kernel, and `--AXIS VALUES...` for each axis.
/// @throws InputError for words before an axis that are none of it, and an axis without values
void take_axes(const std::vector<std::string>& words, SweepRequest& request);

/// The arguments of a bench program that ask it for the sweep.
std::vector<std::string> program_arguments(const SweepRequest& request);

/// The command line that goes on with the sweep, for a shell.
std::string resuming_sweep(const SweepRequest& request, const std::filesystem::path& out);

}  // namespace occbench
