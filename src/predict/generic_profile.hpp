#pragma once

#include <string>

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

/// Likewise, where nothing else is known of the GPU.
DeviceProfile generic_profile(ComputeCapability compute_capability, int sm_count);

}  // namespace occbench
