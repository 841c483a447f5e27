#include "measure/counters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "gpu/error.hpp"

namespace occbench {
namespace {

CountersStatus status_of(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return CountersStatus::denied;
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return CountersStatus::busy;
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_DEVICE:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return CountersStatus::unsupported;
    default:
      return CountersStatus::failed;
  }
}

std::string_view remedy_of(CUptiResult result) {
  switch (status_of(result)) {
    case CountersStatus::denied:
      return "run as root or with CAP_SYS_ADMIN (CAP_PERFMON from driver 565 on; in a container "
             "--cap-add=SYS_ADMIN), or "
             "load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case CountersStatus::busy:
      return "another profiler holds the counters: end it, or pause DCGM with `dcgmi profile pause`";
    case CountersStatus::unsupported:
      return "this GPU or its virtualization does not offer them";
    default:
      break;
  }
  return result == CUPTI_ERROR_NOT_INITIALIZED ? "the driver does not fit this CUPTI, or libnvperf_host and "
                                                 "libnvperf_target do not lie beside libcupti"
                                               : "time and theory are measured without them";
}

[[noreturn]] void throw_unavailable(CUptiResult result, std::string_view call) {
  const char* name = nullptr;
  static_cast<void>(cuptiGetResultString(result, &name));
  throw CountersUnavailable(
      status_of(result),
      fmt::format("{} failed: {}; {}", call, name != nullptr ? name : "unknown error", remedy_of(result)));
}

/// CUPTI's parameter structs carry their own size; all else starts at zero.
#define OCC_CUPTI_PARAMS(TYPE) (make_params<TYPE>(TYPE##_STRUCT_SIZE))
template <typename Params>
Params make_params(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}

/// The one place where CUPTI is called.
class Cupti {
 public:
  explicit Cupti(CuptiInterceptor intercept) : intercept_(std::move(intercept)) {}

  template <typename Params>
  CUptiResult try_call(std::string_view name, CUptiResult (*function)(Params*), Params& params) const {
    return intercept_ ? static_cast<CUptiResult>(intercept_(name)) : function(&params);
  }
  template <typename Params>
  void call(std::string_view name, CUptiResult (*function)(Params*), Params& params) const {
    const CUptiResult result = try_call(name, function, params);
    if (result != CUPTI_SUCCESS) throw_unavailable(result, name);
  }
  bool intercepted() const {
    return static_cast<bool>(intercept_);
  }

 private:
  CuptiInterceptor intercept_;
};

CUcontext current_context() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion(cuCtxGetCurrent)");
  CUcontext context = nullptr;
  if (found != cudaDriverEntryPointSuccess ||
      reinterpret_cast<CUresult (*)(CUcontext*)>(function)(&context) != CUDA_SUCCESS || context == nullptr) {
    throw CountersUnavailable(CountersStatus::failed,
                              "the driver has no current context to read counters of");
  }
  return context;
}

void check_supported(const Cupti& cupti, int device_index) {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params);
  params.cuDevice = device_index;
  params.api = CUPTI_PROFILER_RANGE_PROFILING;
  cupti.call("cuptiProfilerDeviceSupported", cuptiProfilerDeviceSupported, params);
  if (cupti.intercepted() || params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
  const std::pair<CUpti_Profiler_Support_Level, std::string_view> reasons[] = {
      {params.architecture, "its architecture"},
      {params.sli, "SLI"},
      {params.vGpu, "vGPU (profiling must be enabled for the virtual machine)"},
      {params.confidentialCompute, "confidential computing"},
      {params.cmp, "a mining processor (CMP)"},
      {params.wsl, "WSL"},
  };
  std::vector<std::string_view> because;
  for (const auto& [level, reason] : reasons) {
    if (level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) because.push_back(reason);
  }
  throw CountersUnavailable(
      CountersStatus::unsupported,
      fmt::format("this GPU's counters cannot be read because of {}", fmt::join(because, ", ")));
}

std::string chip_name(const Cupti& cupti, int device_index) {
  auto params = OCC_CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
  params.deviceIndex = static_cast<std::size_t>(device_index);
  cupti.call("cuptiDeviceGetChipName", cuptiDeviceGetChipName, params);
  return params.pChipName != nullptr ? params.pChipName : "";
}

std::vector<std::uint8_t> counter_availability(const Cupti& cupti, CUcontext context) {
  // Of all calls this one tells best whether the permission is missing: enabling can succeed without it.
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  params.ctx = context;
  cupti.call("cuptiProfilerGetCounterAvailability", cuptiProfilerGetCounterAvailability, params);
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  cupti.call("cuptiProfilerGetCounterAvailability", cuptiProfilerGetCounterAvailability, params);
  return image;
}

/// CUPTI's object that knows the chip's metrics: turns names into a configuration and counter data into
/// values.
class Host {
 public:
  Host(const Cupti& cupti, const std::string& chip, const std::vector<std::uint8_t>& availability)
      : cupti_(&cupti) {
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.c_str();
    params.pCounterAvailabilityImage = availability.data();
    cupti_->call("cuptiProfilerHostInitialize", cuptiProfilerHostInitialize, params);
    host_ = params.pHostObject;
  }
  ~Host() {
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    params.pHostObject = host_;
    static_cast<void>(
        cupti_->try_call("cuptiProfilerHostDeinitialize", cuptiProfilerHostDeinitialize, params));
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  CUptiResult try_add(std::vector<const char*> names) {
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    params.pHostObject = host_;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    return cupti_->try_call("cuptiProfilerHostConfigAddMetrics", cuptiProfilerHostConfigAddMetrics, params);
  }

  std::vector<std::uint8_t> config_image() {
    auto size = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_;
    cupti_->call("cuptiProfilerHostGetConfigImageSize", cuptiProfilerHostGetConfigImageSize, size);
    std::vector<std::uint8_t> image(size.configImageSize);
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    params.pHostObject = host_;
    params.pConfigImage = image.data();
    params.configImageSize = image.size();
    cupti_->call("cuptiProfilerHostGetConfigImage", cuptiProfilerHostGetConfigImage, params);
    return image;
  }

  std::vector<double> evaluate(std::vector<const char*> names, const std::vector<std::uint8_t>& data,
                               std::size_t range) {
    std::vector<double> values(names.size());
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    params.pHostObject = host_;
    params.pCounterDataImage = data.data();
    params.counterDataImageSize = data.size();
    params.rangeIndex = range;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = values.data();
    cupti_->call("cuptiProfilerHostEvaluateToGpuValues", cuptiProfilerHostEvaluateToGpuValues, params);
    return values;
  }

 private:
  const Cupti* cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// cuptiProfilerInitialize and its counterpart.
class ProfilerLibrary {
 public:
  explicit ProfilerLibrary(const Cupti& cupti) : cupti_(&cupti) {
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
    cupti_->call("cuptiProfilerInitialize", cuptiProfilerInitialize, params);
  }
  ~ProfilerLibrary() {
    auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_DeInitialize_Params);
    static_cast<void>(cupti_->try_call("cuptiProfilerDeInitialize", cuptiProfilerDeInitialize, params));
  }
  ProfilerLibrary(const ProfilerLibrary&) = delete;
  ProfilerLibrary& operator=(const ProfilerLibrary&) = delete;

 private:
  const Cupti* cupti_;
};

/// The context's range profiler between enable and disable.
class RangeProfiler {
 public:
  RangeProfiler(const Cupti& cupti, CUcontext context) : cupti_(&cupti) {
    auto params = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
    params.ctx = context;
    cupti_->call("cuptiRangeProfilerEnable", cuptiRangeProfilerEnable, params);
    profiler_ = params.pRangeProfilerObject;
  }
  ~RangeProfiler() {
    auto params = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = profiler_;
    static_cast<void>(cupti_->try_call("cuptiRangeProfilerDisable", cuptiRangeProfilerDisable, params));
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  CUpti_RangeProfiler_Object* get() const {
    return profiler_;
  }

 private:
  const Cupti* cupti_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

/// What CUPTI needs to collect one list of metrics, made once and used for every case that asks for them.
struct MetricSet {
  std::vector<std::string> metrics;  ///< those of the list that the chip has
  std::unique_ptr<Host> host;
  std::vector<std::uint8_t> config;
  std::vector<std::uint8_t> data;  ///< counter data image, written anew by each session
};

}  // namespace

class Counters::Session {
 public:
  Session(const Device& device, int readings, CuptiInterceptor intercept)
      : cupti_(std::move(intercept)),
        readings_(static_cast<std::size_t>(readings)),
        library_(cupti_),
        context_(cupti_.intercepted() ? nullptr : current_context()),
        chip_(supported_chip(device)),
        availability_(counter_availability(cupti_, context_)) {}

  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch) {
    MetricSet& set = metric_set(metrics);
    set_config(set);
    bool all_passes_submitted = false;
    while (!all_passes_submitted) all_passes_submitted = run_pass(launch);
    decode();
    return evaluate(set);
  }

 private:
  std::string supported_chip(const Device& device) const {
    check_supported(cupti_, device.index);
    return chip_name(cupti_, device.index);
  }

  MetricSet& metric_set(const std::vector<std::string>& metrics) {
    const auto [found, is_new] = sets_.try_emplace(metrics);
    if (!is_new) return found->second;
    try {
      found->second = make_metric_set(metrics);
    } catch (...) {
      sets_.erase(found);
      throw;
    }
    return found->second;
  }

  MetricSet make_metric_set(const std::vector<std::string>& metrics) {
    MetricSet set;
    set.metrics = known(metrics);
    set.host = std::make_unique<Host>(cupti_, chip_, availability_);
    const CUptiResult added = set.host->try_add(pointers(set.metrics));
    if (added != CUPTI_SUCCESS) throw_unavailable(added, "cuptiProfilerHostConfigAddMetrics");
    set.config = set.host->config_image();
    return set;
  }

  std::size_t counter_data_size(const MetricSet& set) {
    std::vector<const char*> names = pointers(set.metrics);
    auto size = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_->get();
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = readings_;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(readings_);
    cupti_.call("cuptiRangeProfilerGetCounterDataSize", cuptiRangeProfilerGetCounterDataSize, size);
    return size.counterDataSize;
  }

  /// The metrics that the chip has. One bad name poisons a host object, so each is tried on one of its own,
  /// and only when all together fail.
  std::vector<std::string> known(const std::vector<std::string>& metrics) const {
    const auto good = [&](const std::vector<std::string>& names) {
      return Host(cupti_, chip_, availability_).try_add(pointers(names)) == CUPTI_SUCCESS;
    };
    if (good(metrics)) return metrics;
    std::vector<std::string> result;
    for (const std::string& metric : metrics) {
      if (good({metric})) result.push_back(metric);
    }
    if (result.empty()) {
      throw CountersUnavailable(
          CountersStatus::unsupported,
          fmt::format("this GPU ({}) has none of the counters {}", chip_, fmt::join(metrics, ", ")));
    }
    return result;
  }

  void set_config(MetricSet& set) {
    // A profiler keeps the first configuration that it is given until it is disabled.
    if (configured_for_ != &set) {
      configured_for_ = nullptr;
      profiler_.emplace(cupti_, context_);
      set.data.resize(counter_data_size(set));
      configured_for_ = &set;
    }
    auto image = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    image.pRangeProfilerObject = profiler_->get();
    image.counterDataSize = set.data.size();
    image.pCounterData = set.data.data();
    cupti_.call("cuptiRangeProfilerCounterDataImageInitialize", cuptiRangeProfilerCounterDataImageInitialize,
                image);
    auto params = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    params.pRangeProfilerObject = profiler_->get();
    params.configSize = set.config.size();
    params.pConfig = set.config.data();
    params.counterDataImageSize = set.data.size();
    params.pCounterDataImage = set.data.data();
    params.range = CUPTI_UserRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = readings_;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = 1;
    cupti_.call("cuptiRangeProfilerSetConfig", cuptiRangeProfilerSetConfig, params);
  }

  /// @returns whether every pass has now been submitted.
  bool run_pass(const std::function<void()>& launch) {
    auto start = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_->get();
    cupti_.call("cuptiRangeProfilerStart", cuptiRangeProfilerStart, start);
    auto stop = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = profiler_->get();
    try {
      for (std::size_t range = 0; range < readings_; ++range) run_range(range, launch);
    } catch (...) {
      // Whatever failed, the next case must find the profiler stopped.
      static_cast<void>(cupti_.try_call("cuptiRangeProfilerStop", cuptiRangeProfilerStop, stop));
      throw;
    }
    cupti_.call("cuptiRangeProfilerStop", cuptiRangeProfilerStop, stop);
    return cupti_.intercepted() || stop.isAllPassSubmitted != 0;
  }

  void run_range(std::size_t range, const std::function<void()>& launch) {
    const std::string name = fmt::format("{}", range);
    auto push = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = profiler_->get();
    push.pRangeName = name.c_str();
    cupti_.call("cuptiRangeProfilerPushRange", cuptiRangeProfilerPushRange, push);
    launch();
    auto pop = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    pop.pRangeProfilerObject = profiler_->get();
    cupti_.call("cuptiRangeProfilerPopRange", cuptiRangeProfilerPopRange, pop);
  }

  void decode() {
    auto params = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    params.pRangeProfilerObject = profiler_->get();
    cupti_.call("cuptiRangeProfilerDecodeData", cuptiRangeProfilerDecodeData, params);
    if (params.numOfRangeDropped > 0) {
      throw CountersUnavailable(CountersStatus::failed, fmt::format("CUPTI dropped {} of {} readings",
                                                                    params.numOfRangeDropped, readings_));
    }
  }

  CounterReadings evaluate(const MetricSet& set) const {
    CounterReadings readings;
    for (std::size_t range = 0; range < readings_; ++range) {
      const std::vector<double> values = set.host->evaluate(pointers(set.metrics), set.data, range);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) readings[set.metrics[i]].push_back(values[i]);
      }
    }
    return readings;
  }

  // Order matters: each is built from, and must be gone before, those above it.
  Cupti cupti_;
  std::size_t readings_;
  ProfilerLibrary library_;
  CUcontext context_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::optional<RangeProfiler> profiler_;
  std::map<std::vector<std::string>, MetricSet> sets_;
  const MetricSet* configured_for_ = nullptr;  ///< the list that the profiler was enabled for
};

std::string_view to_string(CountersStatus status) {
  switch (status) {
    case CountersStatus::ok:
      return "ok";
    case CountersStatus::denied:
      return "denied";
    case CountersStatus::busy:
      return "busy";
    case CountersStatus::unsupported:
      return "unsupported";
    case CountersStatus::off:
      return "off";
    case CountersStatus::failed:
      return "failed";
  }
  return "failed";
}

Counters::Counters(const Device& device, int readings, CuptiInterceptor intercept)
    : session_(std::make_unique<Session>(device, readings, std::move(intercept))) {}
Counters::~Counters() = default;
Counters::Counters(Counters&&) noexcept = default;
Counters& Counters::operator=(Counters&&) noexcept = default;

CounterReadings Counters::read(const std::vector<std::string>& metrics, const std::function<void()>& launch) {
  return session_->read(metrics, launch);
}

}  // namespace occbench
