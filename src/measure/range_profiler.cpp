#include "measure/range_profiler.hpp"

#include <cuda.h>
#include <fmt/ranges.h>

#include "measure/cupti_library.hpp"

namespace occbench {
namespace {

/// The metrics that the chip has. One bad name makes a host object unusable, so if all together fail, each is
/// tried on its own object.
std::vector<std::string> known(const Cupti& cupti, const std::string& chip,
                               const std::vector<std::uint8_t>& availability,
                               const std::vector<std::string>& metrics) {
  const auto good = [&](const std::vector<std::string>& names) {
    return MetricHost(cupti, Profiler::range, chip, availability).try_add(names) == CUPTI_SUCCESS;
  };
  if (good(metrics)) return metrics;
  std::vector<std::string> result;
  for (const std::string& metric : metrics) {
    if (good({metric})) result.push_back(metric);
  }
  if (result.empty()) {
    throw CountersUnavailable(
        CountersStatus::unsupported,
        fmt::format("this GPU ({}) has none of the counters {}", chip, fmt::join(metrics, ", ")));
  }
  return result;
}

}  // namespace

std::vector<std::uint8_t> counter_availability(const Cupti& cupti, CUctx_st* context) {
  // This call detects missing permission best: enabling can succeed without it.
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  params.ctx = context;
  cupti.call(OCC_CUPTI(cuptiProfilerGetCounterAvailability), params);
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  cupti.call(OCC_CUPTI(cuptiProfilerGetCounterAvailability), params);
  return image;
}

MetricSet::MetricSet(const Cupti& cupti, const std::string& chip,
                     const std::vector<std::uint8_t>& availability, const std::vector<std::string>& wanted)
    : metrics(known(cupti, chip, availability, wanted)),
      host(std::make_unique<MetricHost>(cupti, Profiler::range, chip, availability)) {
  Cupti::require(host->try_add(metrics), "cuptiProfilerHostConfigAddMetrics");
  config = host->config_image();
}

RangeProfiler::RangeProfiler(const Cupti& cupti, CUctx_st* context, const MetricSet& set, std::size_t ranges)
    : cupti_(&cupti), set_(&set), ranges_(ranges) {
  auto params = OCC_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
  params.ctx = context;
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerEnable), params);
  profiler_ = params.pRangeProfilerObject;
  std::vector<const char*> names = pointers_to(set.metrics);
  auto size =
      OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject, profiler_);
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
  try {
    cupti_->call(OCC_CUPTI(cuptiRangeProfilerGetCounterDataSize), size);
    data_.resize(size.counterDataSize);
  } catch (...) {
    disable();
    throw;
  }
}

RangeProfiler::~RangeProfiler() {
  disable();
}

void RangeProfiler::disable() noexcept {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject, profiler_);
  static_cast<void>(cupti_->try_call(OCC_CUPTI(cuptiRangeProfilerDisable), params));
}

void RangeProfiler::prepare() {
  auto image = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
                                   pRangeProfilerObject, profiler_);
  image.counterDataSize = data_.size();
  image.pCounterData = data_.data();
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerCounterDataImageInitialize), image);
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject, profiler_);
  params.configSize = set_->config.size();
  params.pConfig = set_->config.data();
  params.counterDataImageSize = data_.size();
  params.pCounterDataImage = data_.data();
  params.range = CUPTI_UserRange;
  params.replayMode = CUPTI_UserReplay;
  params.maxRangesPerPass = ranges_;
  params.numNestingLevels = 1;
  params.minNestingLevel = 1;
  params.passIndex = 0;
  params.targetNestingLevel = 1;
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerSetConfig), params);
}

void RangeProfiler::start() {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject, profiler_);
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerStart), params);
}

void RangeProfiler::push(const std::string& name) {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject, profiler_);
  params.pRangeName = name.c_str();
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerPushRange), params);
}

void RangeProfiler::pop() {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject, profiler_);
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerPopRange), params);
}

bool RangeProfiler::stop() {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject, profiler_);
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerStop), params);
  return cupti_->intercepted() || params.isAllPassSubmitted != 0;
}

void RangeProfiler::try_stop() noexcept {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject, profiler_);
  static_cast<void>(cupti_->try_call(OCC_CUPTI(cuptiRangeProfilerStop), params));
}

void RangeProfiler::decode() {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject, profiler_);
  cupti_->call(OCC_CUPTI(cuptiRangeProfilerDecodeData), params);
  if (params.numOfRangeDropped > 0) {
    throw CountersUnavailable(CountersStatus::failed, fmt::format("CUPTI dropped {} of {} readings",
                                                                  params.numOfRangeDropped, ranges_));
  }
}

CounterReadings RangeProfiler::readings(std::size_t ranges) const {
  CounterReadings readings;
  for (std::size_t range = 0; range < ranges; ++range) {
    const std::vector<double> values = set_->host->evaluate(set_->metrics, data_, range);
    for (std::size_t i = 0; i < values.size(); ++i) {
      readings[set_->metrics[i]].push_back(values[i]);
    }
  }
  return readings;
}

}  // namespace occbench
