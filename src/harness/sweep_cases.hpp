#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/options.hpp"
#include "harness/planned_case.hpp"

namespace occbench {

/// What names a configuration's case: the axes that the user gave, and those of several values. A cap on
/// registers and a count of them are two things.
std::vector<std::pair<std::string, std::string>> parameters_of(const Point& at);

/// The cases of a sweep, each with what is known of it before a launch. A configuration that cannot be is
/// `skipped`, and its note says why.
/// @throws InputError for a kernel that the experiment lacks (naming the nearest), for axes as points_of(),
/// where no configuration at all can be (with the first reason: a source that does not compile, for one), and
/// where there is no NVRTC to compile with
std::vector<PlannedCase> sweep_cases(const Experiment& of, const SweepOptions& sweep,
                                     const Provenance& provenance, const Device& device,
                                     Instruments& instruments);

}  // namespace occbench
