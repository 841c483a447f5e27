#include "predict/profile_choice.hpp"

#include <cstdlib>

namespace occbench {

namespace fs = std::filesystem;

std::string_view to_string(ProfileQuality quality) {
  switch (quality) {
    case ProfileQuality::calibrated_device:
      return "calibrated_device";
    case ProfileQuality::calibrated_model:
      return "calibrated_model";
    case ProfileQuality::generic:
      return "generic";
  }
  return "generic";
}

ProfileQuality quality_of(const DeviceProfile& profile, const GpuIdentity& gpu) {
  const bool same_bus = profile.memory_bus_bits == 0 || gpu.memory_bus_bits == 0 ||
                        profile.memory_bus_bits == gpu.memory_bus_bits;
  const bool same_model = !profile.gpu.empty() && profile.gpu == gpu.name && same_bus &&
                          profile.compute_capability == gpu.compute_capability &&
                          profile.sm_count() == gpu.sm_count;
  if (!same_model) return ProfileQuality::generic;
  return !profile.gpu_uuid.empty() && profile.gpu_uuid == gpu.uuid ? ProfileQuality::calibrated_device
                                                                   : ProfileQuality::calibrated_model;
}

ChosenProfile chosen(DeviceProfile profile, const GpuIdentity& gpu) {
  const ProfileQuality quality = quality_of(profile, gpu);
  return {resized(std::move(profile), gpu.sm_count), quality};
}

fs::path user_profiles() {
  const auto folder = [](const char* variable) -> fs::path {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
  };
  // The XDG base directory specification: a relative path is to be ignored.
  if (const fs::path config = folder("XDG_CONFIG_HOME"); config.is_absolute()) {
    return config / "occbench" / "profiles";
  }
  const fs::path home = folder("HOME");
  return home.empty() ? fs::path() : home / ".config" / "occbench" / "profiles";
}

fs::path profile_file(const fs::path& folder, const std::string& uuid) {
  return folder / (uuid + ".profile");
}

ChosenProfile choose_profile(const GpuIdentity& gpu, const fs::path& folder) {
  if (!gpu.uuid.empty() && !folder.empty()) {
    const fs::path file = profile_file(folder, gpu.uuid);
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return chosen(find_profile(file.string()), gpu);
  }
  for (const std::string_view name : built_in_profiles()) {
    DeviceProfile profile = find_profile(std::string(name));
    if (quality_of(profile, gpu) == ProfileQuality::generic) continue;
    return {std::move(profile), ProfileQuality::calibrated_model};
  }
  return {generic_profile(gpu.compute_capability, gpu.sm_count), ProfileQuality::generic};
}

}  // namespace occbench
