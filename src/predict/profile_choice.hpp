#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/gpus.hpp"
#include "predict/device_profile.hpp"

namespace occbench {

/// The properties of a GPU that select its profile. Unknown ones are empty or 0.
struct GpuIdentity {
  std::string name;  ///< as the driver gives it
  std::string uuid;
  int memory_bus_bits = 0;
  ComputeCapability compute_capability;
  int sm_count = 0;
};

/// The GPU of a line of the table; without a driver name it has the line's key as its name.
GpuIdentity identity_of(const Gpu& gpu);

/// A GPU with nothing else known.
GpuIdentity any_gpu(ComputeCapability compute_capability, int sm_count);

/// The GPU that a profile was made on, or any of its model.
GpuIdentity identity_of(const DeviceProfile& profile);

/// Bandwidth of device memory that kernels reach: bytes per cycle of the SM clock, device-wide.
struct Bandwidth {
  double low = 0;
  double typical = 0;
  double high = 0;
};

/// Typical is 0.93 of the peak, low to high 0.85 to 1: calibrations of H200s and an H100 measured 0.91 to
/// 0.97. The peak is from the table of GPUs. For a GPU that is not in the table, it is the median per SM over
/// GPUs of the nearest compute capability; low and high use the lowest and highest of these.
Bandwidth bandwidth_of(const GpuIdentity& gpu);

/// For a GPU without calibration: typical parameters, its bandwidth, even GPCs, and the name `generic`, which
/// predictions report.
DeviceProfile generic_profile(const GpuIdentity& gpu);

/// How well the device of a prediction is known.
enum class ProfileQuality {
  calibrated_device,  ///< the profile was made on this GPU
  calibrated_model,   ///< it was made on GPUs of this model
  generic,            ///< it was not made on such a GPU: predictions are unverified
};

inline constexpr ProfileQuality kAllProfileQualities[] = {
    ProfileQuality::calibrated_device, ProfileQuality::calibrated_model, ProfileQuality::generic};

/// "calibrated_device", "calibrated_model", "generic"
std::string_view to_string(ProfileQuality quality);

/// A profile for a GPU, with the GPU's number of SMs.
struct ChosenProfile {
  DeviceProfile profile;
  ProfileQuality quality = ProfileQuality::generic;
  Bandwidth bandwidth{};  ///< of the GPU, for the range of a generic prediction
  bool has_bandwidth_of_others =
      false;  ///< the profile's is the median of GPUs of the nearest compute capability

  /// SMs of each GPC, as full_wave_of_clusters() takes them; empty for a generic profile, which assumes even
  /// GPCs. Another GPU of a calibrated model may have different ones.
  std::vector<int> known_sms_per_gpc() const;
};

/// How well a profile describes a GPU; another GPU's profile is never calibrated_device. A profile describes
/// a model if name, memory bus (if both have it), compute capability and number of SMs are the same, and some
/// value is not typical.
ProfileQuality quality_of(const DeviceProfile& profile, const GpuIdentity& gpu);

/// A profile that the user chose for a GPU, resized to it.
ChosenProfile chosen(DeviceProfile profile, const GpuIdentity& gpu);

/// The profile for the GPU on which it was made, or for GPUs of its model.
ChosenProfile chosen(DeviceProfile profile);

/// Where `occbench calibrate` keeps the profiles of this user's GPUs, one file each:
/// $XDG_CONFIG_HOME/occbench/profiles, or else ~/.config/occbench/profiles; empty if neither is known.
std::filesystem::path user_profiles();

/// The file of a GPU in a folder: UUID.profile.
std::filesystem::path profile_file(const std::filesystem::path& folder, const std::string& uuid);

/// Name that `occbench calibrate` gives to the profile of a GPU: its model and the first eight digits of its
/// UUID, such as h200-91faaf4a.
std::string name_of_profile(const std::string& gpu, const std::string& uuid);

/// One line with the profile of a GPU's predictions and how well the GPU is known; empty if the profile was
/// made on this GPU.
std::string remark_on(const std::string& profile, ProfileQuality quality, const std::string& gpu);

/// The best profile for a GPU: that of its UUID in `folder`, else a built-in one of its model, else a generic
/// one.
/// @throws InputError if the file of its UUID is malformed
ChosenProfile choose_profile(const GpuIdentity& gpu, const std::filesystem::path& folder = user_profiles());

}  // namespace occbench
