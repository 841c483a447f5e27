#include "measure/counters.hpp"

#include <optional>
#include <utility>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "gpu/error.hpp"
#include "measure/cupti.hpp"

namespace occbench {
namespace {

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

/// What CUPTI needs to collect one list of metrics, made once and used for every case that asks for them.
struct MetricSet {
  std::vector<std::string> metrics;  ///< those of the list that the chip has
  std::unique_ptr<MetricHost> host;
  std::vector<std::uint8_t> config;
  std::vector<std::uint8_t> data;  ///< counter data image, written again by each session
};

}  // namespace

class Counters::Session {
 public:
  Session(const Device& device, int readings, CuptiInterceptor intercept)
      : cupti_(std::move(intercept)),
        readings_(static_cast<std::size_t>(readings)),
        context_(cupti_.intercepted() ? nullptr : current_context()),
        chip_(supported_chip(cupti_, device.index, Profiler::range)),
        availability_(counter_availability(cupti_, context_)) {}

  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
    MetricSet& set = metric_set(metrics);
    set_config(set);
    bool all_passes_submitted = false;
    while (!all_passes_submitted) all_passes_submitted = run_pass(launch, before);
    decode();
    return evaluate(set);
  }

 private:
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
    set.host = std::make_unique<MetricHost>(cupti_, Profiler::range, chip_, availability_);
    Cupti::require(set.host->try_add(set.metrics), "cuptiProfilerHostConfigAddMetrics");
    set.config = set.host->config_image();
    return set;
  }

  std::size_t counter_data_size(const MetricSet& set) {
    std::vector<const char*> names = pointers_to(set.metrics);
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
      return MetricHost(cupti_, Profiler::range, chip_, availability_).try_add(names) == CUPTI_SUCCESS;
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
  bool run_pass(const std::function<void()>& launch, const std::function<void()>& before) {
    auto start = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_->get();
    cupti_.call("cuptiRangeProfilerStart", cuptiRangeProfilerStart, start);
    auto stop = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = profiler_->get();
    try {
      for (std::size_t range = 0; range < readings_; ++range) {
        if (before) before();
        run_range(range, launch);
      }
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
      const std::vector<double> values = set.host->evaluate(set.metrics, set.data, range);
      for (std::size_t i = 0; i < values.size(); ++i) {
        readings[set.metrics[i]].push_back(values[i]);
      }
    }
    return readings;
  }

  // Order matters: each is built from, and must be gone before, those above it.
  Cupti cupti_;
  std::size_t readings_;
  CUcontext context_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::optional<RangeProfiler> profiler_;
  std::map<std::vector<std::string>, MetricSet> sets_;
  const MetricSet* configured_for_ = nullptr;  ///< the list that the profiler was enabled for
};

Counters::Counters(const Device& device, int readings, CuptiInterceptor intercept)
    : session_(std::make_unique<Session>(device, readings, std::move(intercept))) {}
Counters::~Counters() = default;
Counters::Counters(Counters&&) noexcept = default;
Counters& Counters::operator=(Counters&&) noexcept = default;

CounterReadings Counters::read(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                               const std::function<void()>& before) {
  return session_->read(metrics, launch, before);
}

}  // namespace occbench
