#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "predict/device_profile.hpp"

namespace occbench {

/// How well the device is known that a prediction is made for.
enum class ProfileQuality {
  calibrated_device,  ///< the profile was made on this very GPU
  calibrated_model,   ///< it was made on GPUs of this model
  generic,            ///< it was made on no such GPU: predictions are unverified
};

/// "calibrated_device", "calibrated_model", "generic"
std::string_view to_string(ProfileQuality quality);

/// A GPU, as far as the choice of its profile depends on it. What is not known is empty or 0.
struct GpuIdentity {
  std::string name;  ///< as the driver gives it
  std::string uuid;
  int memory_bus_bits = 0;
  ComputeCapability compute_capability;
  int sm_count = 0;
};

struct ChosenProfile {
  DeviceProfile profile;  ///< of as many SMs as the GPU
  ProfileQuality quality;
};

/// How well a profile describes a GPU: never another GPU's as its own. A profile describes a model if name,
/// memory bus (where both say), compute capability and number of SMs are the same.
ProfileQuality quality_of(const DeviceProfile& profile, const GpuIdentity& gpu);

/// A profile that somebody chose, for a GPU: resized to it.
ChosenProfile chosen(DeviceProfile profile, const GpuIdentity& gpu);

/// Where `occbench calibrate` keeps the profiles of this user's GPUs, a file each:
/// $XDG_CONFIG_HOME/occbench/profiles, or else ~/.config/occbench/profiles; empty where neither is known.
std::filesystem::path user_profiles();

/// The file of a GPU in a folder: UUID.profile.
std::filesystem::path profile_file(const std::filesystem::path& folder, const std::string& uuid);

/// The best profile that is known of a GPU: that of its UUID in `folder`, else a built-in one of its model,
/// else a generic one.
/// @throws InputError if the file of its UUID is malformed
ChosenProfile choose_profile(const GpuIdentity& gpu, const std::filesystem::path& folder = user_profiles());

}  // namespace occbench
