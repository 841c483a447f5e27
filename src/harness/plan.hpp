#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/experiment.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "record/case_record.hpp"

// The first stage of a run: its cases, and the data of each before a launch.
namespace occbench {

/// A case with its data before a launch.
struct PlannedCase {
  Case chosen = {};
  const Variant* variant = nullptr;
  /// Identity, launch, usage and theory. If the device cannot launch it the status is `skipped` already, and the note
  /// says why.
  CaseRecord known;
  std::string name;  ///< experiment/case, as Google Benchmark knows it

  bool can_launch() const {
    return !known.times.status;
  }
};

/// The cases for the options, experiment after experiment: those of the suite or of the sweep, by the names and the
/// filter.
/// @param filter  as case_filter() reads it
/// @throws InputError if none is left. For a sweep also for a kernel that the experiments lack (naming the nearest),
/// for axes as points_of(), and if no configuration is possible, with the first reason
std::vector<PlannedCase> plan_cases(std::span<const Experiment* const> experiments, const Options& options,
                                    const std::string& filter, const Device& device,
                                    Instruments& instruments);

/// @throws InputError if plan_cases() refuses a kernel's axes or `--where`, whatever the device
void require_axes(std::span<const Experiment* const> experiments, const SweepOptions& sweep);

/// Parameters that name a configuration's case: the axes that the user gave, and those of several values. A cap on
/// registers and a count of them are two things.
std::vector<std::pair<std::string, std::string>> parameters_of(const Point& at);

}  // namespace occbench
