#pragma once

#include <span>

#include "harness/experiment.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "harness/plan.hpp"
#include "occupancy/statuses.hpp"

namespace occbench {

/// Handles the cases of experiments by the options: lists them, launches each once, or measures and records one after
/// another. Google Benchmark must have been initialized.
/// @returns no_verdict if something requested was not measured
/// @throws InputError if the filter matches no case or the file of rows cannot be written
ExitStatus run_experiments(std::span<const Experiment* const> experiments, const Options& options,
                           const Device& device, Instruments& instruments);

/// The main function of a measuring program. Its name selects experiments: bench_NAME has those of the suite with
/// that name, NAME those of the tools, any other name the whole suite.
/// @param tools  experiments outside the suites
/// @returns the exit status
int measuring_main(std::span<const Experiment* const> suite, std::span<const Experiment* const> tools,
                   int argc, char** argv);

}  // namespace occbench
