#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/limits.hpp"
#include "predict/profile_choice.hpp"

struct CUuuid_st;

namespace occbench {

/// A GPU of this machine, as the runtime describes it.
struct Device : GpuIdentity {
  int index = 0;             ///< the CUDA runtime's number
  bool integrated = false;   ///< shares the host's memory
  std::size_t l2_bytes = 0;  ///< L2 cache
  Limits limits{};           ///< the table's line, or built from the device's attributes if there is none
  std::vector<std::string> notes = {};  ///< differences between table and device, one sentence each

  /// Warps that all SMs together can hold.
  double warp_slots() const {
    return static_cast<double>(sm_count) * limits.max_warps_per_sm;
  }
};

/// "13.0" from CUDART_VERSION or cudaDriverGetVersion().
std::string cuda_version_text(int version);

/// As nvidia-smi writes it. @param prefix "MIG-" for a MIG device
std::string uuid_text(const CUuuid_st& uuid, std::string_view prefix = "GPU-");

/// All GPUs that the runtime sees, in its order.
/// @throws GpuUnavailable with the reason and the remedy, if none can be used.
std::vector<Device> find_devices();

/// The device named by `choice`: a number, or "auto" = the first discrete GPU with most SMs, an integrated
/// one only if there is no other. @pre `devices` is not empty. @throws InputError if it names none
const Device& choose_device(std::span<const Device> devices, std::string_view choice);

/// The same for this machine's devices. @throws as open_device
Device find_device(std::string_view choice);

/// find_device(); makes it the calling thread's current device and creates its context.
/// @throws InputError if `choice` names none; GpuUnavailable as `find_devices`.
Device open_device(std::string_view choice);

/// A device of the limits table that need not be present, for work without launches.
/// @throws InputError for a compute capability that is not in the table
Device device_to_plan_for(const GpuIdentity& gpu);

}  // namespace occbench
