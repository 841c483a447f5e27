#include "cli/gpu_presence.hpp"
#include "gpu/device.hpp"
#include "gpu/error.hpp"

namespace occbench {

std::string why_no_gpu() {
  try {
    static_cast<void>(find_devices());
    return "";
  } catch (const GpuUnavailable& unavailable) {
    return unavailable.what();
  }
}

std::optional<GpuIdentity> gpu_here(const std::string& choice) {
  try {
    return identity_of(find_device(choice));
  } catch (const GpuUnavailable&) {
    return std::nullopt;
  }
}

}  // namespace occbench
