#pragma once

#include <filesystem>

#include "orchestrate/console.hpp"
#include "predict/device_profile.hpp"

namespace occbench {

/// Writes a profile to a file, "-" = standard output, empty = the file of its GPU in user_profiles(). Where
/// that fails it goes to standard output, so that it is not lost. @returns the file
/// @throws InputError if the file cannot be written
std::filesystem::path keep_profile(const DeviceProfile& profile, const std::filesystem::path& out,
                                   Console& console);

}  // namespace occbench
