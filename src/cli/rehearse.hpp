#pragma once

#include "cli/command.hpp"
#include "orchestrate/plan.hpp"

namespace occbench {

/// The cases of the recorded rows `options.rehearse` with their recorded predictions in place of measurements, a row after
/// another as a run writes them: filter, shard, output and resume as of a run. The scripts of a cluster run so where there
/// is no GPU. Rows have time_status and counters_status `simulated`.
/// @returns no_verdict if the run was stopped
ExitStatus rehearse(const RunOptions& options, Console& console);

}  // namespace occbench
