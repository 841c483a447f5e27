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

/// A request to `occbench sweep`, with the options that it shares with `occbench run`.
struct SweepRequest {
  RunOptions run;
  std::string kernel;                                     ///< of a bench program; empty if there is a source
  std::vector<std::pair<std::string, std::string>> axes;  ///< name and values, in their order
  bool fastest = false;                                   ///< find the fastest without measuring all
  std::string source;                                     ///< a file with a kernel, and how to launch it

  GpuOption gpu;  ///< list for this GPU, which need not be here
};

/// Takes the words that are not options of the command: the kernel, and `--AXIS VALUES...` for each axis.
/// @throws InputError for words before an axis that do not belong to one, and for an axis without values
void take_axes(const std::vector<std::string>& words, SweepRequest& request);

/// The flags that request the sweep from a measuring program.
std::vector<std::string> program_flags(const SweepRequest& request);

/// The result of a race, in a few lines: the fastest configuration, its certainty, what was left out and why, and its
/// occupancy beside the highest.
/// @param cases  all of the sweep
std::string fastest_text(std::span<const CaseRecord> cases);

}  // namespace occbench
