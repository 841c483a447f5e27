#include "gpu/device.hpp"

#include <algorithm>

#include <cuda_runtime_api.h>
#include <fmt/ranges.h>

#include "gpu/error.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

[[noreturn]] void throw_unavailable(cudaError_t code) {
  int driver = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  if (code == cudaErrorNoDevice)
    throw GpuUnavailable(
        "no NVIDIA GPU is visible (in a container: start it with --gpus all; CUDA_VISIBLE_DEVICES may hide "
        "it)");
  if (code != cudaErrorInsufficientDriver)
    throw GpuUnavailable(fmt::format("the CUDA runtime finds no usable GPU: {} ({})", cudaGetErrorName(code),
                                     cudaGetErrorString(code)));
  if (driver == 0)
    throw GpuUnavailable("no NVIDIA driver is loaded: install one, or start the container with --gpus all");
  throw GpuUnavailable(
      fmt::format("the NVIDIA driver supports CUDA {} and this binary was built with CUDA {}: install a "
                  "newer driver, or build with a toolkit of CUDA {} or older",
                  cuda_version_text(driver), cuda_version_text(CUDART_VERSION), cuda_version_text(driver)));
}

/// Limits of a compute capability that is not in the table, from the device's properties; units without a
/// property are those of the nearest line of the table.
Limits limits_from(const cudaDeviceProp& properties, Limits nearest) {
  nearest.compute_capability = {properties.major, properties.minor};
  nearest.threads_per_warp = properties.warpSize;
  nearest.max_warps_per_sm = properties.maxThreadsPerMultiProcessor / properties.warpSize;
  nearest.max_blocks_per_sm = properties.maxBlocksPerMultiProcessor;
  nearest.max_threads_per_block = properties.maxThreadsPerBlock;
  nearest.registers_per_sm = properties.regsPerMultiprocessor;
  nearest.max_registers_per_block = properties.regsPerBlock;
  nearest.shared_bytes_per_sm = static_cast<int>(properties.sharedMemPerMultiprocessor);
  nearest.max_shared_bytes_per_block_default = static_cast<int>(properties.sharedMemPerBlock);
  nearest.max_shared_bytes_per_block = static_cast<int>(properties.sharedMemPerBlockOptin);
  nearest.reserved_shared_bytes_per_block = static_cast<int>(properties.reservedSharedMemPerBlock);
  return nearest;
}

std::vector<std::string> differences(const Limits& table, const Limits& device) {
  std::vector<std::string> notes;
  const auto compare = [&](std::string_view what, int Limits::*member) {
    if (table.*member == device.*member) return;
    notes.push_back(fmt::format("the limits table has {} = {} for compute capability {}, the device says {}",
                                what, table.*member, to_string(table.compute_capability), device.*member));
  };
  compare("threads per warp", &Limits::threads_per_warp);
  compare("warps per SM", &Limits::max_warps_per_sm);
  compare("blocks per SM", &Limits::max_blocks_per_sm);
  compare("threads per block", &Limits::max_threads_per_block);
  compare("registers per SM", &Limits::registers_per_sm);
  compare("registers per block", &Limits::max_registers_per_block);
  compare("shared memory per SM", &Limits::shared_bytes_per_sm);
  compare("shared memory per block", &Limits::max_shared_bytes_per_block_default);
  compare("opt-in shared memory per block", &Limits::max_shared_bytes_per_block);
  compare("reserved shared memory per block", &Limits::reserved_shared_bytes_per_block);
  return notes;
}

const Limits& nearest_limits(ComputeCapability capability) {
  // The last line that is not newer; the first line if all are newer.
  const auto all = all_limits();
  const auto newer =
      std::ranges::find_if(all, [&](const Limits& line) { return line.compute_capability > capability; });
  return newer == all.begin() ? all.front() : *std::prev(newer);
}

Device describe(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  Device device;
  device.index = index;
  device.name = properties.name;
  device.uuid = uuid_text(properties.uuid);
  device.compute_capability = {properties.major, properties.minor};
  device.sm_count = properties.multiProcessorCount;
  device.memory_bus_bits = properties.memoryBusWidth;
  device.integrated = properties.integrated != 0;
  device.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  const Limits& table = nearest_limits(device.compute_capability);
  const Limits said = limits_from(properties, table);
  if (table.compute_capability == device.compute_capability) {
    device.limits = table;
    device.notes = differences(table, said);
  } else {
    device.limits = said;
    device.notes = {
        fmt::format("the limits table lacks compute capability {}: limits are the device's own attributes, "
                    "allocation units those of {}",
                    to_string(device.compute_capability), to_string(table.compute_capability))};
  }
  return device;
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string uuid_text(const CUuuid_st& uuid, std::string_view prefix) {
  std::string text(prefix);
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::vector<Device> find_devices() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) throw_unavailable(code);
  if (count == 0) throw_unavailable(cudaErrorNoDevice);
  std::vector<Device> devices;
  for (int index = 0; index < count; ++index) devices.push_back(describe(index));
  return devices;
}

const Device& choose_device(std::span<const Device> devices, std::string_view choice) {
  if (choice == "auto") {
    return *std::ranges::max_element(devices, {}, [](const Device& device) {
      return std::pair{!device.integrated, device.sm_count};
    });
  }
  const std::optional<int> index = read_number<int>(choice);
  if (!index) throw InputError("'{}' is not a device; write its number, or auto", choice);
  const auto found = std::ranges::find(devices, *index, &Device::index);
  if (found == devices.end()) {
    throw InputError(
        "--device {}: there is no such GPU; this machine has {}, and occbench devices lists them", *index,
        devices.size());
  }
  return *found;
}

Device find_device(std::string_view choice) {
  return choose_device(find_devices(), choice);
}

Device open_device(std::string_view choice) {
  const Device device = find_device(choice);
  check(cudaSetDevice(device.index), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree (creating the context)");
  return device;
}

Device device_to_plan_for(const GpuIdentity& gpu) {
  Device device{gpu};
  device.uuid.clear();
  device.limits = limits_of(gpu.compute_capability);
  return device;
}

}  // namespace occbench
