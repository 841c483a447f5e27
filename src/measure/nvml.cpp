#include "measure/nvml.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace occbench {
namespace {

// NVML comes with the driver, not with the toolkit, and its interface is stable: it is loaded at run time,
// and a machine without it loses nothing but what NVML says. Names and signatures: NVML API reference.
struct CloseLibrary {
  void operator()(void* library) const {
    static_cast<void>(dlclose(library));
  }
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    const auto initialize = function<int()>("nvmlInit_v2");
    initialized_ = initialize != nullptr && initialize() == kSuccess;
  }
  ~Nvml() {
    const auto shut_down = function<int()>("nvmlShutdown");
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

  static constexpr int kSuccess = 0;

 private:
  std::unique_ptr<void, CloseLibrary> library_;
  bool initialized_ = false;
};

struct EventReason {
  std::uint64_t bit;
  std::string_view name;
  bool is_throttle;
};

/// nvmlClocksEventReason*, NVML API reference.
constexpr EventReason kEventReasons[] = {{0x001, "gpu_idle", false},
                                         {0x002, "applications_clocks_setting", false},
                                         {0x004, "sw_power_cap", true},
                                         {0x008, "hw_slowdown", true},
                                         {0x010, "sync_boost", true},
                                         {0x020, "sw_thermal_slowdown", true},
                                         {0x040, "hw_thermal_slowdown", true},
                                         {0x080, "hw_power_brake_slowdown", true},
                                         {0x100, "display_clock_setting", false}};

/// nvmlProcessInfo_t of the functions that end in _v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

std::string driver_version() {
  const Nvml nvml;
  const auto read = nvml.function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, 80> text{};
  if (!nvml.initialized() || read == nullptr || read(text.data(), text.size() - 1) != Nvml::kSuccess)
    return "";
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
    const auto find = nvml_.function<int(const char*, void**)>("nvmlDeviceGetHandleByUUID");
    if (!nvml_.initialized() || find == nullptr || find(gpu_uuid.c_str(), &device_) != Nvml::kSuccess)
      device_ = nullptr;
  }

  /// What a function of the form nvmlDeviceGet...(device, arguments..., Value*) says.
  template <typename Value, typename... Arguments>
  std::optional<Value> get(const char* name, Arguments... arguments) const {
    const auto read = nvml_.function<int(void*, Arguments..., Value*)>(name);
    Value value{};
    if (device_ == nullptr || read == nullptr || read(device_, arguments..., &value) != Nvml::kSuccess)
      return std::nullopt;
    return value;
  }

  /// Processes that one of NVML's lists has.
  std::optional<std::int64_t> count_processes(const char* name) const {
    const auto read = nvml_.function<int(void*, unsigned*, ProcessInfo*)>(name);
    std::vector<ProcessInfo> processes(256);
    auto count = static_cast<unsigned>(processes.size());
    if (device_ == nullptr || read == nullptr || read(device_, &count, processes.data()) != Nvml::kSuccess)
      return std::nullopt;
    return count;
  }

 private:
  Nvml nvml_;
  void* device_ = nullptr;
};

GpuMonitor::GpuMonitor(const std::string& gpu_uuid) : handle_(std::make_unique<Handle>(gpu_uuid)) {}
GpuMonitor::~GpuMonitor() = default;
GpuMonitor::GpuMonitor(GpuMonitor&&) noexcept = default;
GpuMonitor& GpuMonitor::operator=(GpuMonitor&&) noexcept = default;

GpuCondition GpuMonitor::condition() const {
  constexpr unsigned kSmClock = 1;
  constexpr unsigned kMemoryClock = 2;
  constexpr unsigned kGpuSensor = 0;
  GpuCondition condition;
  condition.clocks_event_reasons = handle_->get<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
  if (!condition.clocks_event_reasons) {
    // Its name up to driver 530.
    condition.clocks_event_reasons =
        handle_->get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  condition.sm_clock_mhz = handle_->get<unsigned>("nvmlDeviceGetClockInfo", kSmClock);
  condition.memory_clock_mhz = handle_->get<unsigned>("nvmlDeviceGetClockInfo", kMemoryClock);
  condition.temperature_c = handle_->get<unsigned>("nvmlDeviceGetTemperature", kGpuSensor);
  if (const auto milliwatts = handle_->get<unsigned>("nvmlDeviceGetPowerUsage"))
    condition.power_w = 1e-3 * *milliwatts;
  const auto compute = handle_->count_processes("nvmlDeviceGetComputeRunningProcesses_v3");
  const auto graphics = handle_->count_processes("nvmlDeviceGetGraphicsRunningProcesses_v3");
  // This process is one of them, under whatever number the container or the host has for it.
  if (compute) condition.other_processes = std::max<std::int64_t>(0, *compute + graphics.value_or(0) - 1);
  return condition;
}

std::string GpuMonitor::settings() const {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, value);
  };
  if (const auto persistence = handle_->get<unsigned>("nvmlDeviceGetPersistenceMode"))
    add("persistence", *persistence != 0 ? "on" : "off");
  unsigned mig = 0;
  if (handle_->get<unsigned>("nvmlDeviceGetMigMode", &mig)) add("mig", mig != 0 ? "on" : "off");
  if (const auto processes = handle_->count_processes("nvmlDeviceGetMPSComputeRunningProcesses_v3"))
    add("mps_processes", *processes);
  if (const auto milliwatts = handle_->get<unsigned>("nvmlDeviceGetEnforcedPowerLimit"))
    add("power_limit_w", *milliwatts / 1000);
  return text;
}

}  // namespace occbench
