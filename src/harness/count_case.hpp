#pragma once

#include "harness/measured_case.hpp"
#include "harness/ready_case.hpp"
#include "harness/session.hpp"

namespace occbench {

/// Reads the hardware counters of a case: those that are read always, then those that the case asks for and
/// those that the user asked for by name, in sessions of their own, so that they cost the others no pass.
/// Whatever goes wrong stands in the note.
void count_case(const PlannedCase& planned, ReadyCase& ready, Session& session, MeasuredCase& into);

}  // namespace occbench
