#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/gpu_option.hpp"
#include "orchestrate/plan.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// What `occbench sweep` was asked for, beside what it shares with `occbench run`.
struct SweepRequest {
  RunOptions run;
  std::string kernel;  ///< of a bench program; empty where there is a source
  std::vector<std::pair<std::string, std::string>> axes;  ///< name and values, in their order
  bool fastest = false;                                   ///< find the fastest without measuring all
  std::string source;                                     ///< a file with a kernel, and how to launch it

  GpuOption gpu;  ///< list for this GPU, which need not be here
};

/// Takes the words that are no options of the command: the kernel, and `--AXIS VALUES...` for each axis.
/// @throws InputError for words before an axis that are none of it, and an axis without values
void take_axes(const std::vector<std::string>& words, SweepRequest& request);

/// The flags of a measuring program that ask it for the sweep.
std::vector<std::string> program_flags(const SweepRequest& request);

/// What a race found, in a few lines: the fastest configuration, how sure that is, what was left out and why, and its
/// occupancy beside the highest.
/// @param cases  all of the sweep
std::string fastest_text(std::span<const CaseRecord> cases);

}  // namespace occbench
