#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/gpu_option.hpp"
#include "orchestrate/plan.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// An axis of a kernel, as its program describes it.
struct DescribedAxis {
  std::string name;
  std::string meaning;
  std::string values;  ///< where the user gives none
};

/// A kernel that can be swept, and the program that measures it.
struct SweptKernel {
  std::filesystem::path program;
  std::string name;
  std::string description;
  std::vector<DescribedAxis> axes;
};

/// The kernels of the programs in a folder: those of `sweep` first, then those of the bench binaries of the
/// user's own. Needs no GPU.
/// @throws InputError where there is no such program: this build has no CUDA
std::vector<SweptKernel> swept_kernels(const std::filesystem::path& folder);

/// @throws InputError for a kernel that is not among them, naming the nearest
const SweptKernel& find_kernel(const std::vector<SweptKernel>& kernels, const std::string& name);

/// Its axes for the help text.
std::string axes_help(const SweptKernel& kernel);

/// `sweep` in the folder, which compiles and measures kernels in files. @throws InputError as swept_kernels()
std::filesystem::path sweep_program(const std::filesystem::path& folder);

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

/// What a race found, in a few lines: the fastest configuration, how sure that is, what was left out and why, and its
/// occupancy beside the highest.
/// @param cases  those of the sweep that have a row
/// @param all    how many configurations the sweep has
std::string fastest_text(std::span<const CaseRecord> cases, std::size_t all);

}  // namespace occbench
