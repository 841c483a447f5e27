#include "measure/nvml.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>
#include <nvml.h>

namespace occbench {
namespace {

// NVML comes with the driver and is loaded at run time: a machine without it lacks only NVML's values. Types
// are those of its header.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW), dlclose) {
    auto* const initialize = function<decltype(nvmlInit_v2)>("nvmlInit_v2");
    initialized_ = initialize != nullptr && initialize() == NVML_SUCCESS;
  }
  ~Nvml() {
    auto* const shut_down = function<decltype(nvmlShutdown)>("nvmlShutdown");
    if (initialized_ && shut_down != nullptr) static_cast<void>(shut_down());
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool initialized() const {
    return initialized_;
  }

  template <typename Signature>
  Signature* function(const char* name) const {
    return library_ ? reinterpret_cast<Signature*>(dlsym(library_.get(), name)) : nullptr;
  }

 private:
  std::unique_ptr<void, int (*)(void*)> library_;
  bool initialized_ = false;
};

struct EventReason {
  std::uint64_t bit;
  std::string_view name;
  bool is_throttle;
};

constexpr EventReason kEventReasons[] = {
    {nvmlClocksEventReasonGpuIdle, "gpu_idle", false},
    {nvmlClocksEventReasonApplicationsClocksSetting, "applications_clocks_setting", false},
    {nvmlClocksEventReasonSwPowerCap, "sw_power_cap", true},
    {nvmlClocksThrottleReasonHwSlowdown, "hw_slowdown", true},
    {nvmlClocksEventReasonSyncBoost, "sync_boost", true},
    {nvmlClocksEventReasonSwThermalSlowdown, "sw_thermal_slowdown", true},
    {nvmlClocksThrottleReasonHwThermalSlowdown, "hw_thermal_slowdown", true},
    {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "hw_power_brake_slowdown", true},
    {nvmlClocksEventReasonDisplayClockSetting, "display_clock_setting", false}};

/// Result type of a function nvmlDeviceGet...(device, value*) or (device, argument, value*).
template <typename Function>
struct Answer;
template <typename Value>
struct Answer<nvmlReturn_t(nvmlDevice_t, Value*)> {
  using Type = Value;
};
template <typename Argument, typename Value>
struct Answer<nvmlReturn_t(nvmlDevice_t, Argument, Value*)> {
  using Type = Value;
};

/// nvmlDeviceGetTemperature, deprecated in headers from CUDA 13.1 on; older drivers have no other.
using GetTemperature = nvmlReturn_t(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*);

using CountProcesses = decltype(nvmlDeviceGetComputeRunningProcesses_v3);
static_assert(std::is_same_v<CountProcesses, decltype(nvmlDeviceGetGraphicsRunningProcesses_v3)> &&
              std::is_same_v<CountProcesses, decltype(nvmlDeviceGetMPSComputeRunningProcesses_v3)>);

}  // namespace

std::string driver_version() {
  const Nvml nvml;
  auto* const read = nvml.function<decltype(nvmlSystemGetDriverVersion)>("nvmlSystemGetDriverVersion");
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text{};
  if (!nvml.initialized() || read == nullptr || read(text.data(), text.size() - 1) != NVML_SUCCESS) return "";
  return text.data();
}

bool is_throttled(std::uint64_t clocks_event_reasons) {
  return std::ranges::any_of(kEventReasons, [&](const EventReason& reason) {
    return reason.is_throttle && (clocks_event_reasons & reason.bit) != 0;
  });
}

std::string clocks_event_reasons_text(std::uint64_t clocks_event_reasons) {
  std::string text;
  for (const EventReason& reason : kEventReasons) {
    if ((clocks_event_reasons & reason.bit) == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : "+", reason.name);
  }
  return text.empty() ? "none" : text;
}

class GpuMonitor::Handle {
 public:
  explicit Handle(const std::string& gpu_uuid) {
    auto* const find = nvml_.function<decltype(nvmlDeviceGetHandleByUUID)>("nvmlDeviceGetHandleByUUID");
    if (!nvml_.initialized() || find == nullptr || find(gpu_uuid.c_str(), &device_) != NVML_SUCCESS)
      device_ = nullptr;
  }

  /// Result of a function for the device.
  template <typename Function, typename... Arguments>
  std::optional<typename Answer<Function>::Type> get(const char* name, Arguments... arguments) const {
    auto* const read = nvml_.function<Function>(name);
    typename Answer<Function>::Type value{};
    if (device_ == nullptr || read == nullptr || read(device_, arguments..., &value) != NVML_SUCCESS)
      return std::nullopt;
    return value;
  }

  /// Number of processes in one of NVML's lists.
  std::optional<std::int64_t> count_processes(const char* name) const {
    auto* const read = nvml_.function<CountProcesses>(name);
    std::vector<nvmlProcessInfo_t> processes(256);
    auto count = static_cast<unsigned>(processes.size());
    if (device_ == nullptr || read == nullptr || read(device_, &count, processes.data()) != NVML_SUCCESS)
      return std::nullopt;
    return count;
  }

 private:
  Nvml nvml_;
  nvmlDevice_t device_ = nullptr;
};

GpuMonitor::GpuMonitor(const std::string& gpu_uuid) : handle_(std::make_unique<Handle>(gpu_uuid)) {}
GpuMonitor::~GpuMonitor() = default;

GpuCondition GpuMonitor::condition() const {
  using GetEventReasons = decltype(nvmlDeviceGetCurrentClocksEventReasons);
  using GetClock = decltype(nvmlDeviceGetClockInfo);
  GpuCondition condition;
  condition.clocks_event_reasons = handle_->get<GetEventReasons>("nvmlDeviceGetCurrentClocksEventReasons");
  if (!condition.clocks_event_reasons) {
    // Its name up to driver 530.
    condition.clocks_event_reasons =
        handle_->get<GetEventReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  condition.sm_clock_mhz = handle_->get<GetClock>("nvmlDeviceGetClockInfo", NVML_CLOCK_SM);
  condition.memory_clock_mhz = handle_->get<GetClock>("nvmlDeviceGetClockInfo", NVML_CLOCK_MEM);
  condition.temperature_c = handle_->get<GetTemperature>("nvmlDeviceGetTemperature", NVML_TEMPERATURE_GPU);
  if (const auto milliwatts = handle_->get<decltype(nvmlDeviceGetPowerUsage)>("nvmlDeviceGetPowerUsage"))
    condition.power_w = 1e-3 * *milliwatts;
  const auto compute = handle_->count_processes("nvmlDeviceGetComputeRunningProcesses_v3");
  const auto graphics = handle_->count_processes("nvmlDeviceGetGraphicsRunningProcesses_v3");
  // This process is one of them; its PID may differ between container and host.
  if (compute) condition.other_processes = std::max<std::int64_t>(0, *compute + graphics.value_or(0) - 1);
  return condition;
}

std::string GpuMonitor::settings() const {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, value);
  };
  if (const auto mode = handle_->get<decltype(nvmlDeviceGetPersistenceMode)>("nvmlDeviceGetPersistenceMode"))
    add("persistence", *mode == NVML_FEATURE_ENABLED ? "on" : "off");
  unsigned mig = 0;
  if (handle_->get<decltype(nvmlDeviceGetMigMode)>("nvmlDeviceGetMigMode", &mig))
    add("mig", mig == NVML_DEVICE_MIG_ENABLE ? "on" : "off");
  if (const auto processes = handle_->count_processes("nvmlDeviceGetMPSComputeRunningProcesses_v3"))
    add("mps_processes", *processes);
  if (const auto milliwatts =
          handle_->get<decltype(nvmlDeviceGetEnforcedPowerLimit)>("nvmlDeviceGetEnforcedPowerLimit"))
    add("power_limit_w", *milliwatts / 1000);
  return text;
}

}  // namespace occbench
