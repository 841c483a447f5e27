#pragma once

#include <optional>

#include "harness/measured_case.hpp"
#include "harness/planned_case.hpp"
#include "harness/session.hpp"

namespace occbench {

/// Measures one case: the whole way from its plan to all that its row says. A case that fails, or that the
/// device cannot run, has its record too, and its note says why; whatever was measured before stays.
/// @returns empty where the end of the run cut the case off: it has no row, and a resumed run makes it
std::optional<MeasuredCase> measure_case(const PlannedCase& planned, Session& session,
                                         GoogleBenchmark& benchmark);

}  // namespace occbench
