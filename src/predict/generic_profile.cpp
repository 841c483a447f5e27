#include "predict/generic_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "predict/parameters.hpp"

namespace occbench {
namespace {

/// Bandwidth of a GPU that nobody measured, of its data sheet's. Calibrations of H200s and an H100 found 0.91 to
/// 0.97 (docs/any-gpu.md); no launch goes above 1.
constexpr double kLeastOfPeak = 0.85;
constexpr double kTypicalOfPeak = 0.93;

double peak_bytes_per_cycle(const Gpu& gpu) {
  return gpu.bandwidth_gb_s * 1000 / gpu.clock_mhz;
}

/// Within a major version first.
int versions_between(ComputeCapability one, ComputeCapability other) {
  return 100 * std::abs(one.major - other.major) + std::abs(one.minor - other.minor);
}

/// Peaks by SM of the GPUs whose compute capability is nearest, ascending.
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

}  // namespace

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
  const Gpu* const line = gpu.name.empty() ? nullptr : find_gpu(gpu.name);
  if (line != nullptr && line->compute_capability == gpu.compute_capability &&
      line->sm_count == gpu.sm_count) {
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

DeviceProfile generic_profile(ComputeCapability compute_capability, int sm_count) {
  return generic_profile(any_gpu(compute_capability, sm_count));
}

}  // namespace occbench
