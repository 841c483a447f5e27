#pragma once

#include <functional>
#include <vector>

#include "harness/gpu_watch.hpp"
#include "harness/measured_case.hpp"
#include "harness/ready_case.hpp"

namespace occbench {

/// Makes the times of a case of launches that Google Benchmark timed. A few more are timed where those are
/// too few for a median; all are timed once more where a throttle or something passing spoiled them.
/// @param microseconds  of the launches so far
/// @param stopped  whether to end early: the times then are not whole
/// @throws what a launch throws; the times until then stay
void time_case(ReadyCase& ready, std::vector<double> microseconds, GpuWatch& watch,
               const std::function<bool()>& stopped, MeasuredCase& into);

}  // namespace occbench
