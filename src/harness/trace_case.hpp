#pragma once

#include "harness/measured_case.hpp"
#include "harness/ready_case.hpp"
#include "harness/session.hpp"

namespace occbench {

/// Traces launches of a case where its placement is of interest, where a file per SM was asked for, or where
/// the counters are closed and a trace of this very kernel says the same: achieved occupancy then is the
/// trace's. Whatever goes wrong stands in the note.
void trace_case(const PlannedCase& planned, ReadyCase& ready, Session& session, MeasuredCase& into);

}  // namespace occbench
