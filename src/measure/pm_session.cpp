#include "measure/pm_session.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "measure/cupti_library.hpp"

namespace occbench {
namespace {

/// Where the sampling hardware counts cycles of the system clock instead of nanoseconds. The samples say when
/// they were taken, so that nothing depends on how fast that clock is.
constexpr double kSystemCyclesPerNs = 1.5;

std::vector<std::uint8_t> counter_availability(const Cupti& cupti, int device_index) {
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params);
  params.deviceIndex = static_cast<std::size_t>(device_index);
  cupti.call("cuptiPmSamplingGetCounterAvailability", cuptiPmSamplingGetCounterAvailability, params);
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  cupti.call("cuptiPmSamplingGetCounterAvailability", cuptiPmSamplingGetCounterAvailability, params);
  return image;
}

}  // namespace

PmSession::PmSession(int device_index, std::vector<std::string> metrics, CuptiInterceptor intercept)
    : cupti_(std::move(intercept)),
      device_index_(device_index),
      metrics_(std::move(metrics)),
      chip_(supported_chip(cupti_, device_index_, Profiler::pm_sampling)),
      availability_(counter_availability(cupti_, device_index_)),
      host_(cupti_, Profiler::pm_sampling, chip_, availability_) {
  const int added = host_.try_add(metrics_);
  if (added == CUPTI_ERROR_INVALID_METRIC_NAME) {
    throw CountersUnavailable(CountersStatus::unsupported,
                              fmt::format("this GPU ({}) cannot sample {}", chip_, metrics_.front()));
  }
  Cupti::require(added, "cuptiProfilerHostConfigAddMetrics");
  config_ = host_.config_image();
  if (passes_of(cupti_, config_) > 1) {
    throw CountersUnavailable(CountersStatus::unsupported,
                              fmt::format("this GPU ({}) cannot sample {} at once", chip_, metrics_.front()));
  }
}

PmSession::~PmSession() {
  disable();
}

void PmSession::enable(Trigger trigger, double interval_ns, std::size_t samples, std::size_t hardware_bytes) {
  disable();
  auto enabled = OCC_CUPTI_PARAMS(CUpti_PmSampling_Enable_Params);
  enabled.deviceIndex = static_cast<std::size_t>(device_index_);
  cupti_.call("cuptiPmSamplingEnable", cuptiPmSamplingEnable, enabled);
  sampler_ = enabled.pPmSamplingObject;
  is_enabled_ = true;
  set_config(trigger, interval_ns, hardware_bytes);
  std::vector<const char*> names = pointers_to(metrics_);
  auto size = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params);
  size.pPmSamplingObject = sampler_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxSamples = static_cast<std::uint32_t>(samples);
  cupti_.call("cuptiPmSamplingGetCounterDataSize", cuptiPmSamplingGetCounterDataSize, size);
  image_.resize(size.counterDataSize);
  initialize_image();
}

void PmSession::disable() noexcept {
  if (!std::exchange(is_enabled_, false)) return;
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_Disable_Params);
  params.pPmSamplingObject = std::exchange(sampler_, nullptr);
  static_cast<void>(cupti_.try_call("cuptiPmSamplingDisable", cuptiPmSamplingDisable, params));
}

void PmSession::set_config(Trigger trigger, double interval_ns, std::size_t hardware_bytes) {
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_SetConfig_Params);
  params.pPmSamplingObject = sampler_;
  params.configSize = config_.size();
  params.pConfig = config_.data();
  params.hardwareBufferSize = hardware_bytes;
  params.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  params.samplingInterval = static_cast<std::uint64_t>(std::llround(interval_ns));
  const CUptiResult by_time = cupti_.try_call("cuptiPmSamplingSetConfig", cuptiPmSamplingSetConfig, params);
  if (by_time == CUPTI_SUCCESS) return;
  if (trigger == Trigger::time) Cupti::require(by_time, "cuptiPmSamplingSetConfig");
  // Turing and GA100 do not have that trigger.
  params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
  params.samplingInterval = static_cast<std::uint64_t>(std::llround(interval_ns * kSystemCyclesPerNs));
  cupti_.call("cuptiPmSamplingSetConfig", cuptiPmSamplingSetConfig, params);
}

void PmSession::initialize_image() {
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params);
  params.pPmSamplingObject = sampler_;
  params.counterDataSize = image_.size();
  params.pCounterData = image_.data();
  cupti_.call("cuptiPmSamplingCounterDataImageInitialize", cuptiPmSamplingCounterDataImageInitialize, params);
  image_is_used_ = false;
}

void PmSession::start() {
  if (image_is_used_) initialize_image();
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_Start_Params);
  params.pPmSamplingObject = sampler_;
  cupti_.call("cuptiPmSamplingStart", cuptiPmSamplingStart, params);
}

void PmSession::stop() {
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_Stop_Params);
  params.pPmSamplingObject = sampler_;
  cupti_.call("cuptiPmSamplingStop", cuptiPmSamplingStop, params);
}

void PmSession::try_stop() noexcept {
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_Stop_Params);
  params.pPmSamplingObject = sampler_;
  static_cast<void>(cupti_.try_call("cuptiPmSamplingStop", cuptiPmSamplingStop, params));
}

PmSession::Decoded PmSession::decode() {
  image_is_used_ = true;
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_DecodeData_Params);
  params.pPmSamplingObject = sampler_;
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  const CUptiResult decoded = cupti_.try_call("cuptiPmSamplingDecodeData", cuptiPmSamplingDecodeData, params);
  Decoded result;
  result.overflow = params.overflow != 0 || decoded == CUPTI_ERROR_OUT_OF_MEMORY;
  if (!result.overflow) Cupti::require(decoded, "cuptiPmSamplingDecodeData");
  // What comes after is lost: decoding once more finds nothing.
  result.full = params.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  auto info = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  cupti_.call("cuptiPmSamplingGetCounterDataInfo", cuptiPmSamplingGetCounterDataInfo, info);
  result.samples = samples(info.numCompletedSamples);
  result.without_value = info.numCompletedSamples - result.samples.size();
  return result;
}

std::vector<PmSession::Sample> PmSession::samples(std::size_t completed) const {
  std::vector<Sample> result;
  result.reserve(completed);
  for (std::size_t i = 0; i < completed; ++i) {
    auto when = OCC_CUPTI_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params);
    when.pPmSamplingObject = sampler_;
    when.pCounterDataImage = image_.data();
    when.counterDataImageSize = image_.size();
    when.sampleIndex = i;
    cupti_.call("cuptiPmSamplingCounterDataGetSampleInfo", cuptiPmSamplingCounterDataGetSampleInfo, when);
    std::vector<double> values = host_.evaluate(metrics_, image_, i);
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) continue;
    result.push_back({when.startTimestamp, when.endTimestamp, std::move(values)});
  }
  return result;
}

}  // namespace occbench
