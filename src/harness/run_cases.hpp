#pragma once

#include "harness/session.hpp"
#include "occupancy/exit_status.hpp"

namespace occbench {

/// Does with the experiment's cases what the session's options ask for: lists them, launches each once, or
/// measures one after another. Google Benchmark must have been initialized.
/// @returns no_verdict if something that was asked for was not measured
/// @throws InputError if the filter matches no case or the file of rows cannot be written
ExitStatus run_cases(Session& session, const Experiment& of);

}  // namespace occbench
