#include "predict/profile_choice.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/core.h>

#include "files/input.hpp"
#include "predict/parameters.hpp"

namespace occbench {
namespace {

/// Rows from any source name a GPU. A name that is not a UUID could lead out of the folder of profiles.
bool is_file_name(const std::string& uuid) {
  return !uuid.empty() && std::ranges::all_of(uuid, [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-';
  });
}

/// Bandwidth of a GPU that was not measured, as shares of its data sheet's. Calibrations of H200s and an H100
/// found 0.91 to 0.97 (docs/any-gpu.md); no launch exceeds 1.
constexpr double kLeastOfPeak = 0.85;
constexpr double kTypicalOfPeak = 0.93;

double peak_bytes_per_cycle(const Gpu& gpu) {
  return gpu.bandwidth_gb_s * 1000 / gpu.clock_mhz;
}

/// Prefers the same major version.
int versions_between(ComputeCapability one, ComputeCapability other) {
  return 100 * std::abs(one.major - other.major) + std::abs(one.minor - other.minor);
}

/// Peaks per SM of the GPUs with the nearest compute capability, ascending.
std::vector<double> peaks_by_sm(ComputeCapability compute_capability) {
  const auto distance_of = [&](const Gpu& gpu) {
    return versions_between(gpu.compute_capability, compute_capability);
  };
  const int nearest = distance_of(*std::ranges::min_element(all_gpus(), {}, distance_of));
  std::vector<double> peaks;
  for (const Gpu& gpu : all_gpus()) {
    if (distance_of(gpu) == nearest) peaks.push_back(peak_bytes_per_cycle(gpu) / gpu.sm_count);
  }
  std::ranges::sort(peaks);
  return peaks;
}

/// The GPU's line of the table; null if it has none.
const Gpu* line_of(const GpuIdentity& gpu) {
  const Gpu* const line = gpu.name.empty() ? nullptr : find_gpu(gpu.name);
  const bool is_it =
      line != nullptr && line->compute_capability == gpu.compute_capability && line->sm_count == gpu.sm_count;
  return is_it ? line : nullptr;
}

}  // namespace

std::string_view to_string(ProfileQuality quality) {
  static constexpr std::string_view kWords[] = {"calibrated_device", "calibrated_model", "generic"};
  return kWords[static_cast<std::size_t>(quality)];
}

ProfileQuality quality_of(const DeviceProfile& profile, const GpuIdentity& gpu) {
  const bool same_bus = profile.memory_bus_bits == 0 || gpu.memory_bus_bits == 0 ||
                        profile.memory_bus_bits == gpu.memory_bus_bits;
  const bool same_model = !profile.gpu.empty() && profile.gpu == gpu.name && same_bus &&
                          profile.compute_capability == gpu.compute_capability &&
                          profile.sm_count() == gpu.sm_count;
  // A profile with only typical values contains no measurement.
  const bool is_typical =
      profile.model == DeviceModel::uniform(Topology::even(profile.sm_count()), typical_parameters());
  if (!same_model || is_typical) return ProfileQuality::generic;
  return !profile.gpu_uuid.empty() && profile.gpu_uuid == gpu.uuid ? ProfileQuality::calibrated_device
                                                                   : ProfileQuality::calibrated_model;
}

ChosenProfile chosen(DeviceProfile profile, const GpuIdentity& gpu) {
  const ProfileQuality quality = quality_of(profile, gpu);
  return {resized(std::move(profile), gpu.sm_count), quality, bandwidth_of(gpu)};
}

ChosenProfile chosen(DeviceProfile profile) {
  const GpuIdentity gpu = identity_of(profile);
  return chosen(std::move(profile), gpu);
}

std::vector<int> ChosenProfile::known_sms_per_gpc() const {
  return quality == ProfileQuality::generic ? std::vector<int>() : profile.model.topology.sms_per_gpc();
}

fs::path user_profiles() {
  const fs::path folder = user_folder("XDG_CONFIG_HOME", ".config");
  return folder.empty() ? folder : folder / "profiles";
}

fs::path profile_file(const fs::path& folder, const std::string& uuid) {
  return folder / (uuid + ".profile");
}

std::string name_of_profile(const std::string& gpu, const std::string& uuid) {
  constexpr std::string_view kMaker = "nvidia-";
  constexpr std::string_view kUuidPrefix = "GPU-";
  std::string name;
  for (const unsigned char letter : gpu) {
    name += std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '-';
  }
  if (name.starts_with(kMaker)) name.erase(0, kMaker.size());
  if (name.empty()) name = "gpu";
  const std::string digits = uuid.starts_with(kUuidPrefix) ? uuid.substr(kUuidPrefix.size()) : uuid;
  return digits.empty() ? name : name + "-" + digits.substr(0, 8);
}

std::string remark_on(const std::string& profile, ProfileQuality quality, const std::string& gpu) {
  const std::string predicted =
      fmt::format("{} is predicted with the profile {}", gpu.empty() ? "a GPU without a name" : gpu, profile);
  if (quality == ProfileQuality::calibrated_device) return "";
  if (quality == ProfileQuality::calibrated_model)
    return predicted + ", made on GPUs of this model (calibrated_model)";
  return predicted + ", made on no such GPU (generic): predictions are unverified";
}

ChosenProfile choose_profile(const GpuIdentity& gpu, const fs::path& folder) {
  if (is_file_name(gpu.uuid) && !folder.empty()) {
    const fs::path file = profile_file(folder, gpu.uuid);
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return chosen(find_profile(file.string()), gpu);
  }
  for (const std::string_view name : built_in_profiles()) {
    DeviceProfile profile = find_profile(std::string(name));
    if (quality_of(profile, gpu) != ProfileQuality::generic) return chosen(std::move(profile), gpu);
  }
  return {generic_profile(gpu), ProfileQuality::generic, bandwidth_of(gpu), line_of(gpu) == nullptr};
}

GpuIdentity identity_of(const Gpu& gpu) {
  return {.name = std::string(gpu.driver_name.empty() ? gpu.name : gpu.driver_name),
          .uuid = "",
          .memory_bus_bits = gpu.memory_bus_bits,
          .compute_capability = gpu.compute_capability,
          .sm_count = gpu.sm_count};
}

GpuIdentity any_gpu(ComputeCapability compute_capability, int sm_count) {
  GpuIdentity gpu;
  gpu.compute_capability = compute_capability;
  gpu.sm_count = sm_count;
  return gpu;
}

GpuIdentity identity_of(const DeviceProfile& profile) {
  return {.name = profile.gpu,
          .uuid = profile.gpu_uuid,
          .memory_bus_bits = profile.memory_bus_bits,
          .compute_capability = profile.compute_capability,
          .sm_count = profile.sm_count()};
}

Bandwidth bandwidth_of(const GpuIdentity& gpu) {
  if (const Gpu* const line = line_of(gpu)) {
    const double peak = peak_bytes_per_cycle(*line);
    return {kLeastOfPeak * peak, kTypicalOfPeak * peak, peak};
  }
  const std::vector<double> peaks = peaks_by_sm(gpu.compute_capability);
  const double sms = gpu.sm_count;
  return {kLeastOfPeak * peaks.front() * sms, kTypicalOfPeak * peaks[peaks.size() / 2] * sms,
          peaks.back() * sms};
}

DeviceProfile generic_profile(const GpuIdentity& gpu) {
  DeviceProfile profile;
  profile.name = "generic";
  profile.compute_capability = gpu.compute_capability;
  profile.model = DeviceModel::uniform(Topology::even(gpu.sm_count), typical_parameters());
  profile.model.parameters.bytes_per_cycle = std::max(1.0, std::round(bandwidth_of(gpu).typical));
  return profile;
}

}  // namespace occbench
