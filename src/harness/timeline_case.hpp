#pragma once

#include <optional>

#include "harness/measured_case.hpp"
#include "harness/ready_case.hpp"
#include "harness/session.hpp"

namespace occbench {

/// Samples occupancy over the time of one launch; empty where that cannot be had or the launch had no warps.
/// What went wrong stands in the note.
std::optional<Activity> sample_activity(const PlannedCase& planned, ReadyCase& ready, Session& session,
                                        MeasuredCase& into);

/// Writes it, with what is predicted beside it, to the folder that was asked for.
void write_timeline(const Activity& activity, Session& session, CaseRecord& record);

}  // namespace occbench
