#pragma once

#include "cli/tool_program.hpp"

namespace occbench {

/// The bench binary whose launches a profile is fitted to.
inline constexpr const char* kCalibration = "calibration";

/// Measures a GPU and keeps its profile where predictions of it find it (user_profiles()).
/// @returns as measure(); what was measured and could not be kept is printed
/// @throws InputError if the profile cannot be kept, or the GPU has no counters
ExitStatus calibrate_device(const ToolProgram& program, Console& console);

}  // namespace occbench
