#include <memory>
#include <ostream>
#include <variant>

#include <cuda_runtime_api.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "cli/gpu_option.hpp"
#include "gpu/device.hpp"
#include "gpu/error.hpp"
#include "gpu/first_gpc.hpp"
#include "measure/nvml.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

struct Property {
  const char*
      name;  ///< the runtime's own; for an attribute that CUDA 13 took out of cudaDeviceProp, its name there
  std::variant<int cudaDeviceProp::*, std::size_t cudaDeviceProp::*, int (cudaDeviceProp::*)[3],
               cudaDeviceAttr>
      value;
};

constexpr Property kProperties[] = {
    {"major", &cudaDeviceProp::major},
    {"minor", &cudaDeviceProp::minor},
    {"multiProcessorCount", &cudaDeviceProp::multiProcessorCount},
    {"warpSize", &cudaDeviceProp::warpSize},
    {"maxThreadsPerMultiProcessor", &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {"maxBlocksPerMultiProcessor", &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {"maxThreadsPerBlock", &cudaDeviceProp::maxThreadsPerBlock},
    {"maxThreadsDim", &cudaDeviceProp::maxThreadsDim},
    {"maxGridSize", &cudaDeviceProp::maxGridSize},
    {"regsPerMultiprocessor", &cudaDeviceProp::regsPerMultiprocessor},
    {"regsPerBlock", &cudaDeviceProp::regsPerBlock},
    {"sharedMemPerMultiprocessor", &cudaDeviceProp::sharedMemPerMultiprocessor},
    {"sharedMemPerBlock", &cudaDeviceProp::sharedMemPerBlock},
    {"sharedMemPerBlockOptin", &cudaDeviceProp::sharedMemPerBlockOptin},
    {"reservedSharedMemPerBlock", &cudaDeviceProp::reservedSharedMemPerBlock},
    {"globalL1CacheSupported", &cudaDeviceProp::globalL1CacheSupported},
    {"localL1CacheSupported", &cudaDeviceProp::localL1CacheSupported},
    {"l2CacheSize", &cudaDeviceProp::l2CacheSize},
    {"persistingL2CacheMaxSize", &cudaDeviceProp::persistingL2CacheMaxSize},
    {"totalGlobalMem", &cudaDeviceProp::totalGlobalMem},
    {"totalConstMem", &cudaDeviceProp::totalConstMem},
    {"memoryBusWidth", &cudaDeviceProp::memoryBusWidth},
    {"memoryClockRate", cudaDevAttrMemoryClockRate},
    {"clockRate", cudaDevAttrClockRate},
    {"singleToDoublePrecisionPerfRatio", cudaDevAttrSingleToDoublePrecisionPerfRatio},
    {"clusterLaunch", &cudaDeviceProp::clusterLaunch},
    {"cooperativeLaunch", &cudaDeviceProp::cooperativeLaunch},
    {"concurrentKernels", &cudaDeviceProp::concurrentKernels},
    {"streamPrioritiesSupported", &cudaDeviceProp::streamPrioritiesSupported},
    {"computePreemptionSupported", &cudaDeviceProp::computePreemptionSupported},
    {"asyncEngineCount", &cudaDeviceProp::asyncEngineCount},
    {"integrated", &cudaDeviceProp::integrated},
    {"isMultiGpuBoard", &cudaDeviceProp::isMultiGpuBoard},
    {"ECCEnabled", &cudaDeviceProp::ECCEnabled},
    {"mpsEnabled", cudaDevAttrMpsEnabled},
    {"computeMode", cudaDevAttrComputeMode},
    {"kernelExecTimeoutEnabled", cudaDevAttrKernelExecTimeout},
    {"pciDomainID", &cudaDeviceProp::pciDomainID},
    {"pciBusID", &cudaDeviceProp::pciBusID},
    {"pciDeviceID", &cudaDeviceProp::pciDeviceID},
};

Json value_of(const Property& property, const cudaDeviceProp& properties, int device) {
  return std::visit(
      [&](auto value) {
        if constexpr (std::is_same_v<decltype(value), cudaDeviceAttr>) {
          int attribute = 0;
          check(cudaDeviceGetAttribute(&attribute, value, device), "cudaDeviceGetAttribute");
          return Json(attribute);
        } else if constexpr (std::is_same_v<decltype(value), int(cudaDeviceProp::*)[3]>) {
          return Json(fmt::format("{}", fmt::join(properties.*value, " x ")));
        } else {
          return Json(properties.*value);
        }
      },
      property.value);
}

Json describe(const Device& device, int chosen_by_auto) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device.index), "cudaGetDeviceProperties");
  Json object = {{"device", device.index},
                 {"chosen_by_auto", device.index == chosen_by_auto ? 1 : 0},
                 {"name", device.name},
                 {"uuid", device.uuid}};
  for (const Property& property : kProperties)
    object[property.name] = value_of(property, properties, device.index);
  object["fp32_lanes_per_sm"] = device.limits.fp32_lanes;
  object["threads_per_lane"] = threads_per_lane(device.limits, device.limits.max_threads_per_sm());
  object["sms_per_gpc"] =
      fmt::format("{}", fmt::join(sms_per_gpc(open_device(std::to_string(device.index))), ","));
  object["gpu_settings"] = GpuMonitor(device.uuid).settings();
  object["limits_table"] = device.notes.empty() ? "agrees" : fmt::format("{}", fmt::join(device.notes, "; "));
  return object;
}

/// One line per property, one column per device.
std::string device_table(const std::vector<Json>& devices) {
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, first] : devices.front().items()) {
    std::vector<std::string> line = {name};
    for (const Json& device : devices) line.push_back(cell_text(device.at(name)));
    lines.push_back(std::move(line));
  }
  return text_table(lines, "<");
}

std::vector<Json> describe_devices(const std::string& choice) {
  const int chosen_by_auto = open_device("auto").index;
  const std::vector<Device> devices = choice == "all" ? find_devices() : std::vector{open_device(choice)};
  return mapped(devices, [&](const Device& device) { return describe(device, chosen_by_auto); });
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

std::optional<GpuIdentity> gpu_here() {
  try {
    return find_device("auto");
  } catch (const GpuUnavailable&) {
    return std::nullopt;
  }
}

std::vector<GpuHere> gpus_here() {
  try {
    return mapped(find_devices(), [](const Device& device) { return GpuHere{device.index, device.uuid}; });
  } catch (const GpuUnavailable&) {
    return {};
  }
}

Action declare_devices(CLI::App& parser) {
  struct Options {
    std::string device = "all";
    std::string format;
  };
  const auto options = std::make_shared<Options>();
  add_device_option(parser, options->device,
                    "number of a GPU; auto: the discrete one with most SMs, an integrated one only if there "
                    "is no other; or all")
      ->capture_default_str();
  add_format(parser, options->format, {"table", "csv", "json"});
  return [options](Console& console) {
    try {
      const std::vector<Json> devices = describe_devices(options->device);
      fmt::print(console.out, "{}",
                 options->format == "table"
                     ? device_table(devices)
                     : flat_text(devices, options->format == "csv" ? AnswerFormat::csv : AnswerFormat::json));
      return ExitStatus::done;
    } catch (const GpuUnavailable& unavailable) {
      fmt::print(console.err, "occbench: {}\n", unavailable.what());
      return ExitStatus::no_verdict;
    }
  };
}

}  // namespace occbench
