#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "occupancy/statuses.hpp"

namespace occbench {

/// The hardware counters could not be read. The message has the remedy.
using CountersUnavailable = StatusError<CountersStatus>;

}  // namespace occbench

struct CUpti_Profiler_Host_Object;

namespace occbench {

// Shared by the users of CUPTI in this folder. CUPTI's own headers stay in .cpp files.

/// Replaces every CUPTI call, for tests without a GPU. Receives the call's name and a pointer to CUPTI's
/// struct for that call, which it may fill in; returns the call's CUptiResult.
using CuptiInterceptor = std::function<int(std::string_view call, void* parameters)>;

/// CUPTI's parameter structs carry their own size; all else starts at zero.
#define OCC_CUPTI_PARAMS(TYPE) (::occbench::make_cupti_params<TYPE>(TYPE##_STRUCT_SIZE))
template <typename Params>
Params make_cupti_params(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}

/// Parameters of a call on a CUPTI object, which is stored in the struct's member MEMBER.
#define OCC_CUPTI_PARAMS_OF(TYPE, MEMBER, OBJECT) \
  (::occbench::make_cupti_params<TYPE>(TYPE##_STRUCT_SIZE, &TYPE::MEMBER, OBJECT))
template <typename Params, typename Object>
Params make_cupti_params(std::size_t size, Object* Params::*member, Object* object) {
  Params params = make_cupti_params<Params>(size);
  params.*member = object;
  return params;
}

/// All CUPTI calls go through this class.
class Cupti {
 public:
  explicit Cupti(CuptiInterceptor intercept) : intercept_(std::move(intercept)) {}

  /// @param function  as OCC_CUPTI() gives it (cupti_library.hpp)
  /// @returns the call's result, a CUptiResult
  template <typename Function, typename Params>
  auto try_call(const Function& function, Params& params) const {
    using Result = decltype(function(&params));
    return intercept_ ? static_cast<Result>(intercept_(function.name(), &params)) : function(&params);
  }
  /// @throws CountersUnavailable
  template <typename Function, typename Params>
  void call(const Function& function, Params& params) const {
    require(static_cast<int>(try_call(function, params)), function.name());
  }

  /// @throws CountersUnavailable with the remedy, unless `result` is CUPTI_SUCCESS
  static void require(int result, std::string_view call);

  /// CUPTI's name of a result.
  static std::string result_text(int result);

  bool intercepted() const {
    return static_cast<bool>(intercept_);
  }

 private:
  CuptiInterceptor intercept_;
};

/// CUPTI's collector.
enum class Profiler { range, pm_sampling };

/// Initializes CUPTI's profilers and returns its name of the device's chip, such as GH100. @throws
/// CountersUnavailable, also if the GPU's virtualization prevents profiling, with the reason
std::string supported_chip(const Cupti& cupti, int device_index, Profiler profiler);

/// CUPTI's object that knows a chip's metrics: turns names into a configuration and counter data into values.
/// Needs no GPU.
class MetricHost {
 public:
  /// @param availability image of the counters that this process may read on the device; CUPTI keeps a
  /// pointer to it. Empty = all of the chip
  MetricHost(const Cupti& cupti, Profiler profiler, const std::string& chip,
             const std::vector<std::uint8_t>& availability);
  ~MetricHost();
  MetricHost(const MetricHost&) = delete;
  MetricHost& operator=(const MetricHost&) = delete;

  /// Adds all of `metrics` at once. A name that the chip lacks makes the object unusable.
  /// @returns a CUptiResult
  int try_add(const std::vector<std::string>& metrics);

  /// Configuration to collect the added metrics. @throws CountersUnavailable
  std::vector<std::uint8_t> config_image();

  /// The metrics' values in one range or sample of a counter data image. @throws CountersUnavailable
  std::vector<double> evaluate(const std::vector<std::string>& metrics, const std::vector<std::uint8_t>& data,
                               std::size_t index) const;

  /// Names without roll-up, as in sm__warps_active. @throws CountersUnavailable
  std::vector<std::string> base_metrics() const;

  /// Suffixes of a base metric, such as .avg.per_cycle_active; none if there is no such metric.
  std::vector<std::string> sub_metrics(const std::string& base_metric) const;

 private:
  const Cupti* cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// Launches needed to collect a configuration.
/// @throws CountersUnavailable
std::size_t passes_of(const Cupti& cupti, std::vector<std::uint8_t>& config_image);

/// As CUPTI takes lists of names; valid as long as they are.
std::vector<const char*> pointers_to(const std::vector<std::string>& names);

/// The socket of the daemon of NVIDIA's Multi-Process Service (MPS), if there is one: programs then share one
/// context on the GPU. It is in CUDA_MPS_PIPE_DIRECTORY, or else in /tmp/nvidia-mps (NVIDIA, Multi-Process
/// Service, "Environment variables").
///
/// Counting must be avoided then. After a client has set up counters, launches of the next client that does
/// so fail (CUDA error 719), and a client without counters finds the GPU busy (H100, driver 580.159.04, CUDA
/// 13.0). Records of kernels disturb no client.
std::optional<std::filesystem::path> mps_socket();

/// Message for a program that wanted to count.
std::string why_not_with_mps(const std::filesystem::path& socket);

}  // namespace occbench
