#pragma once

#include <filesystem>
#include <string>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "orchestrate/run.hpp"
#include "predict/device_profile.hpp"

namespace occbench {

/// A bench binary of launches that are part of no suite, and what the user says of it.
struct ToolProgram {
  std::string name;  ///< "calibration", "validation"
  std::string device = "auto";
  std::filesystem::path benches = {};  ///< folder that it lies in; empty: that of this program
};

/// The bench binary whose launches a profile is fitted to.
inline constexpr const char* kCalibration = "calibration";

/// Writes a profile to a file, "-" = standard output, empty = the file of its GPU in user_profiles(). Where
/// that fails it goes to standard output, so that it is not lost. @returns the file
/// @throws InputError if the file cannot be written
std::filesystem::path keep_profile(const DeviceProfile& profile, const std::filesystem::path& out,
                                   Console& console);

/// Measures a GPU and keeps its profile where predictions of it find it (user_profiles()).
/// @returns as measure(); what was measured and could not be kept is printed
/// @throws InputError if the profile cannot be kept, or the GPU has no counters
ExitStatus calibrate_device(const ToolProgram& program, Console& console);

}  // namespace occbench
