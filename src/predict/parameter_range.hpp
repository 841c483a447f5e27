#pragma once

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "predict/chance.hpp"
#include "predict/interval.hpp"
#include "predict/profile_choice.hpp"
#include "predict/tasks.hpp"

namespace occbench {

/// Percent of the device's warps.
struct ParameterRange {
  Interval achieved{100, 0};
  Interval elapsed{100, 0};
};

/// What one simulation of a launch takes, roughly, on one core. It says how many of them a generic prediction
/// is made of, which therefore is the same on every machine.
double simulation_microseconds(const Limits& limits, const Tasks& tasks);

/// What parameter_range() takes, roughly, on one core, unless two simulations take longer.
inline constexpr double kRangeMicroseconds = 25'000;

/// What a launch reaches as the parameters of the profile go to both ends of their ranges (parameters.hpp;
/// that of bandwidth is the GPU's): all of them at once, then one after another. Those that do not matter to
/// the launch are left out, and of large grids those that the table lists later. Takes kRangeMicroseconds, or two
/// simulations.
/// @throws InputError as Seeds and simulate() do
ParameterRange parameter_range(const Launch& launch, const Usage& usage, const Limits& limits,
                               const ChosenProfile& chosen, const Tasks& tasks, const Chance& chance);

}  // namespace occbench
