#pragma once

#include <span>

#include "harness/experiment.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "harness/plan.hpp"
#include "occupancy/statuses.hpp"

namespace occbench {

/// Does with the cases of experiments what the options ask for: lists them, launches each once, or measures
/// and records one after another. Google Benchmark must have been initialized.
/// @returns no_verdict if something that was asked for was not measured
/// @throws InputError if the filter matches no case or the file of rows cannot be written
ExitStatus run_experiments(std::span<const Experiment* const> experiments, const Options& options,
                           const Device& device, Instruments& instruments);

/// The main function of a measuring program. Its name chooses of its experiments: bench_NAME has those of the
/// suite with that name, NAME those of the tools, any other name the whole suite.
/// @param tools  experiments that are part of no suite
/// @returns the exit status
int measuring_main(std::span<const Experiment* const> suite, std::span<const Experiment* const> tools,
                   int argc, char** argv);

}  // namespace occbench
