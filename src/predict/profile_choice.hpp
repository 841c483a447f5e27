#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/gpus.hpp"
#include "predict/device_profile.hpp"

namespace occbench {

/// A GPU, as far as its profile depends on it. What is not known is empty or 0.
struct GpuIdentity {
  std::string name;  ///< as the driver gives it
  std::string uuid;
  int memory_bus_bits = 0;
  ComputeCapability compute_capability;
  int sm_count = 0;
};

/// Any GPU of a line of the table; one that the driver has no name for is called by its key.
GpuIdentity identity_of(const Gpu& gpu);

/// A GPU of which nothing else is known.
GpuIdentity any_gpu(ComputeCapability compute_capability, int sm_count);

/// The GPU that a profile was made on, or any of its model.
GpuIdentity identity_of(const DeviceProfile& profile);

/// What kernels reach of the bandwidth of device memory: bytes a cycle of the SM clock, device-wide.
struct Bandwidth {
  double low = 0;
  double typical = 0;
  double high = 0;
};

/// 0.93 of the peak, and from 0.85 to 1 of it: calibrations of H200s and an H100 measured 0.91 to 0.97.
/// The peak is that of the table of GPUs. For a GPU that the table lacks it is the median over GPUs of the
/// nearest compute capability, by SM, and low and high are from the least to the most of them.
Bandwidth bandwidth_of(const GpuIdentity& gpu);

/// For a GPU that nobody has calibrated: typical parameters, its bandwidth, even GPCs, and the name
/// `generic`, so that predictions say what they used.
DeviceProfile generic_profile(const GpuIdentity& gpu);

/// How well the device is known that a prediction is made for.
enum class ProfileQuality {
  calibrated_device,  ///< the profile was made on this very GPU
  calibrated_model,   ///< it was made on GPUs of this model
  generic,            ///< it was made on no such GPU: predictions are unverified
};

inline constexpr ProfileQuality kAllProfileQualities[] = {
    ProfileQuality::calibrated_device, ProfileQuality::calibrated_model, ProfileQuality::generic};

/// "calibrated_device", "calibrated_model", "generic"
std::string_view to_string(ProfileQuality quality);

/// A profile for a GPU, of as many SMs as it has.
struct ChosenProfile {
  DeviceProfile profile;
  ProfileQuality quality = ProfileQuality::generic;
  Bandwidth bandwidth{};  ///< of the GPU, for the range of a generic prediction
  bool has_bandwidth_of_others =
      false;  ///< the profile's is the middle of GPUs of the nearest compute capability

  /// SMs of each GPC, as full_wave_of_clusters() takes them; empty for a generic profile, which takes them as even.
  /// Another GPU of a calibrated model may have others.
  std::vector<int> known_sms_per_gpc() const;
};

/// How well a profile describes a GPU: never another GPU's as its own. A profile describes a model if name,
/// memory bus (where both say), compute capability and number of SMs are the same, and a value is not the typical one.
ProfileQuality quality_of(const DeviceProfile& profile, const GpuIdentity& gpu);

/// A profile that somebody chose, for a GPU: resized to it.
ChosenProfile chosen(DeviceProfile profile, const GpuIdentity& gpu);

/// The profile for the GPU that it was made on, or for those of its model.
ChosenProfile chosen(DeviceProfile profile);

/// Where `occbench calibrate` keeps the profiles of this user's GPUs, a file each:
/// $XDG_CONFIG_HOME/occbench/profiles, or else ~/.config/occbench/profiles; empty where neither is known.
std::filesystem::path user_profiles();

/// The file of a GPU in a folder: UUID.profile.
std::filesystem::path profile_file(const std::filesystem::path& folder, const std::string& uuid);

/// What `occbench calibrate` calls the profile of a GPU: its model and the first eight digits of its UUID, as
/// h200-91faaf4a.
std::string name_of_profile(const std::string& gpu, const std::string& uuid);

/// In one line, which profile a GPU is predicted with and how well it is known; empty where the profile was
/// made on this GPU.
std::string remark_on(const std::string& profile, ProfileQuality quality, const std::string& gpu);

/// The best profile that is known of a GPU: that of its UUID in `folder`, else a built-in one of its model,
/// else a generic one.
/// @throws InputError if the file of its UUID is malformed
ChosenProfile choose_profile(const GpuIdentity& gpu, const std::filesystem::path& folder = user_profiles());

}  // namespace occbench
