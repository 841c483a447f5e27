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

// What the users of CUPTI in this folder share. CUPTI's own headers stay in .cpp files.

/// Takes the place of every CUPTI call, for tests without a GPU: is given the call's name and its parameters,
/// a pointer to CUPTI's struct for that call, which it may fill in; returns the call's CUptiResult.
using CuptiInterceptor = std::function<int(std::string_view call, void* parameters)>;

/// CUPTI's parameter structs carry their own size; all else starts at zero.
#define OCC_CUPTI_PARAMS(TYPE) (::occbench::make_cupti_params<TYPE>(TYPE##_STRUCT_SIZE))
template <typename Params>
Params make_cupti_params(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}

/// Those of a call on an object of CUPTI's, which is written to the struct's member of that name.
#define OCC_CUPTI_PARAMS_OF(TYPE, MEMBER, OBJECT) \
  (::occbench::make_cupti_params<TYPE>(TYPE##_STRUCT_SIZE, &TYPE::MEMBER, OBJECT))
template <typename Params, typename Object>
Params make_cupti_params(std::size_t size, Object* Params::*member, Object* object) {
  Params params = make_cupti_params<Params>(size);
  params.*member = object;
  return params;
}

/// The one way in which CUPTI is called.
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

/// What of CUPTI collects.
enum class Profiler { range, pm_sampling };

/// Makes CUPTI's profilers ready, and says its name of the device's chip, such as GH100. @throws
/// CountersUnavailable, also where the GPU's virtualization keeps the profiler from working, with the reason
std::string supported_chip(const Cupti& cupti, int device_index, Profiler profiler);

/// CUPTI's object that knows a chip's metrics: turns names into a configuration and counter data into values.
/// Needs no GPU.
class MetricHost {
 public:
  /// @param availability image of the counters that the device lets this process read, which CUPTI keeps a
  /// pointer to; empty = all of the chip
  MetricHost(const Cupti& cupti, Profiler profiler, const std::string& chip,
             const std::vector<std::uint8_t>& availability);
  ~MetricHost();
  MetricHost(const MetricHost&) = delete;
  MetricHost& operator=(const MetricHost&) = delete;

  /// Asks for all of `metrics` at once. A name that the chip does not have makes the object useless.
  /// @returns a CUptiResult
  int try_add(const std::vector<std::string>& metrics);

  /// How to collect what was added. @throws CountersUnavailable
  std::vector<std::uint8_t> config_image();

  /// The metrics' values in one range or sample of a counter data image. @throws CountersUnavailable
  std::vector<double> evaluate(const std::vector<std::string>& metrics, const std::vector<std::uint8_t>& data,
                               std::size_t index) const;

  /// Names without roll-up, as in sm__warps_active. @throws CountersUnavailable
  std::vector<std::string> base_metrics() const;

  /// What can follow a base metric, as in .avg.per_cycle_active; none if there is no such metric.
  std::vector<std::string> sub_metrics(const std::string& base_metric) const;

 private:
  const Cupti* cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// Times that a launch has to be repeated to collect what a configuration asks for.
/// @throws CountersUnavailable
std::size_t passes_of(const Cupti& cupti, std::vector<std::uint8_t>& config_image);

/// As CUPTI takes lists of names; valid as long as they are.
std::vector<const char*> pointers_to(const std::vector<std::string>& names);

/// The socket of the daemon of NVIDIA's Multi-Process Service (MPS), where there is one: programs then share one
/// context on the GPU. It lies in CUDA_MPS_PIPE_DIRECTORY, without that in /tmp/nvidia-mps (NVIDIA, Multi-Process
/// Service, "Environment variables").
///
/// Nothing may be counted then. Once a client has set up counters, launches of the next client that does so fail
/// (CUDA error 719), and a client without counters beside it finds the GPU busy (H100, driver 580.159.04, CUDA
/// 13.0). Records of kernels disturb nobody.
std::optional<std::filesystem::path> mps_socket();

/// For those who wanted to count.
std::string why_not_with_mps(const std::filesystem::path& socket);

}  // namespace occbench
