#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace occbench {

/// Version of the NVIDIA driver, as "580.159.04"; empty if NVML cannot be loaded.
std::string driver_version();

/// State of a GPU at one moment. Values that NVML does not give are empty.
struct GpuCondition {
  std::optional<std::uint64_t> clocks_event_reasons;  ///< NVML's bits: why clocks are not higher
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<std::int64_t> temperature_c;
  std::optional<double> power_w;
  std::optional<std::int64_t> other_processes;  ///< that have a context on the GPU, besides this one
};

/// Whether the hardware or the driver limits clocks because of heat or power. An idle GPU or clocks set by a
/// user do not count.
bool is_throttled(std::uint64_t clocks_event_reasons);

/// "none", or the reasons by NVML's names, joined with '+', such as "sw_power_cap+hw_slowdown".
std::string clocks_event_reasons_text(std::uint64_t clocks_event_reasons);

/// Queries NVML about one GPU and does not change its settings. Without NVML everything is empty.
class GpuMonitor {
 public:
  /// @param gpu_uuid as Device::uuid
  explicit GpuMonitor(const std::string& gpu_uuid);
  ~GpuMonitor();

  /// Takes about 1 ms (NVML asks the GPU again at most every few milliseconds).
  GpuCondition condition() const;

  /// Such as "persistence=on;mig=off;mps_processes=0;power_limit_w=700"; unknown settings are left out.
  std::string settings() const;

 private:
  class Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace occbench
