#include <algorithm>
#include <cctype>

#include <cuda_runtime_api.h>

#include "cli/gpu_presence.hpp"
#include "gpu/device.hpp"
#include "gpu/error.hpp"

namespace occbench {

namespace {

/// In lower case, as /sys has it; empty for a GPU on no such bus.
std::string pci_bus_id(int device) {
  char text[32] = {};
  if (cudaDeviceGetPCIBusId(text, sizeof(text), device) != cudaSuccess) return "";
  std::string id = text;
  std::ranges::transform(id, id.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return id;
}

}  // namespace

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

std::vector<GpuHere> gpus_here() {
  try {
    std::vector<GpuHere> gpus;
    for (const Device& device : find_devices())
      gpus.push_back({device.index, device.uuid, pci_bus_id(device.index)});
    return gpus;
  } catch (const GpuUnavailable&) {
    return {};
  }
}

}  // namespace occbench
