#include "measure/pm_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "measure/cupti_library.hpp"

namespace occbench {
namespace {

/// Below it the SMs' counters in one sample are inconsistent (seen on an H200 at 100 ns).
constexpr double kFinestNs = 250;
constexpr double kCoarsestNs = 1000;
/// Samples that a short launch should have.
constexpr double kWantedSamples = 400;
/// A launch that needs more at kCoarsestNs gets a longer interval.
constexpr double kMostSamples = 20'000;
/// Time before and after the launch that is also sampled (1.1 ms was seen).
constexpr double kMarginNs = 2.5e6;
/// Hardware bytes per sample (more than 2 and less than 13 KB on an H200), and the smallest and largest
/// buffer.
constexpr double kHardwareBytesPerSample = 16 << 10;
constexpr double kLeastHardwareBytes = 32 << 20;
constexpr double kMostHardwareBytes = 1 << 30;

double interval_ns(double expected_us) {
  const double wanted = std::clamp(1000 * expected_us / kWantedSamples, kFinestNs, kCoarsestNs);
  return std::max(wanted, 1000 * expected_us / kMostSamples);
}

/// Used if the sampling hardware counts cycles of the system clock instead of nanoseconds. Samples have
/// timestamps, so nothing depends on the speed of that clock.
constexpr double kSystemCyclesPerNs = 1.5;

std::vector<std::uint8_t> counter_availability(const Cupti& cupti, int device_index) {
  auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params);
  params.deviceIndex = static_cast<std::size_t>(device_index);
  cupti.call(OCC_CUPTI(cuptiPmSamplingGetCounterAvailability), params);
  std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  cupti.call(OCC_CUPTI(cuptiPmSamplingGetCounterAvailability), params);
  return image;
}

/// Hardware bytes per sample (up to 10.7 KB, H100, without kUnitMetrics). A buffer that overflows is doubled.
constexpr std::size_t kWindowBytesPerSample = 12 << 10;
constexpr std::size_t kLeastWindowBytes = 8 << 20;
constexpr std::size_t kMostWindowBytes = 512 << 20;

/// Start and stop take 2.3 ms; 0.4 to 0.5 ms of that is sampled, too (H100).
constexpr std::uint64_t kWindowMarginNs = 700'000;

}  // namespace

const std::vector<std::string> kActivityMetrics = {"sm__warps_active.sum", "sm__cycles_active.max",
                                                   "sm__cycles_elapsed.avg"};

const std::vector<std::string> kWindowMetrics = {"gr__ctas_launched.sum", "sm__warps_active.sum",
                                                 "sm__cycles_active.sum", "sm__cycles_active.max",
                                                 "sm__cycles_elapsed.avg"};

// The peak is the most of these cycles that all SMs together have in one cycle.
const std::vector<std::string> kUnitMetrics = {"sm__pipe_tensor_cycles_active.sum",
                                               "sm__pipe_tensor_cycles_active.sum.peak_sustained",
                                               "dram__throughput.avg.pct_of_peak_sustained_elapsed"};

ActivitySamples sample_launch(const Device& device, double expected_us, const std::function<void()>& launch,
                              CuptiInterceptor intercept) {
  PmSession session(device.index, kActivityMetrics, std::move(intercept));
  const double interval = interval_ns(expected_us);
  const double samples = (1000 * expected_us + kMarginNs) / interval;
  const double bytes = std::clamp(samples * kHardwareBytesPerSample, kLeastHardwareBytes, kMostHardwareBytes);
  session.enable(PmSession::Trigger::time_or_system_clock, interval, static_cast<std::size_t>(samples),
                 static_cast<std::size_t>(bytes));
  session.start();
  try {
    launch();
  } catch (...) {
    session.try_stop();
    throw;
  }
  session.stop();
  const PmSession::Decoded decoded = session.decode();
  ActivitySamples result;
  for (const PmSession::Sample& one : decoded.samples)
    result.samples.push_back({one.start_ns, one.end_ns, one.values[0], one.values[1], one.values[2]});
  if (const std::size_t empty = decoded.without_value; empty > 0) {
    result.losses.push_back(
        fmt::format("{} of {} samples have no value", empty, empty + decoded.samples.size()));
  }
  if (decoded.overflow)
    result.losses.emplace_back("the hardware's buffer of samples overflowed, and samples are missing");
  if (decoded.full) {
    result.losses.push_back(fmt::format("CUPTI's image of samples was full after {}, and the rest is missing",
                                        result.samples.size()));
  }
  return result;
}

PmSession::PmSession(int device_index, std::vector<std::string> metrics, CuptiInterceptor intercept,
                     const std::vector<std::string>& more)
    : cupti_(std::move(intercept)),
      device_index_(device_index),
      needed_(metrics.size()),
      metrics_(std::move(metrics)),
      chip_(supported_chip(cupti_, device_index_, Profiler::pm_sampling)),
      availability_(counter_availability(cupti_, device_index_)) {
  const auto try_add = [&](const std::vector<std::string>& wanted) {
    host_.emplace(cupti_, Profiler::pm_sampling, chip_, availability_);
    const int added = host_->try_add(wanted);
    if (added == CUPTI_SUCCESS) config_ = host_->config_image();
    return added;
  };
  if (!more.empty()) {
    std::vector<std::string> all = metrics_;
    all.insert(all.end(), more.begin(), more.end());
    if (try_add(all) == CUPTI_SUCCESS && passes_of(cupti_, config_) == 1) {
      metrics_ = std::move(all);
      return;
    }
  }
  const int added = try_add(metrics_);
  if (added == CUPTI_ERROR_INVALID_METRIC_NAME) {
    throw CountersUnavailable(CountersStatus::unsupported,
                              fmt::format("this GPU ({}) cannot sample {}", chip_, metrics_.front()));
  }
  Cupti::require(added, "cuptiProfilerHostConfigAddMetrics");
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
  cupti_.call(OCC_CUPTI(cuptiPmSamplingEnable), enabled);
  sampler_ = enabled.pPmSamplingObject;
  is_enabled_ = true;
  set_config(trigger, interval_ns, hardware_bytes);
  std::vector<const char*> names = pointers_to(metrics_);
  auto size = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject, sampler_);
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxSamples = static_cast<std::uint32_t>(samples);
  cupti_.call(OCC_CUPTI(cuptiPmSamplingGetCounterDataSize), size);
  image_.resize(size.counterDataSize);
  initialize_image();
}

void PmSession::disable() noexcept {
  if (!std::exchange(is_enabled_, false)) return;
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_Disable_Params, pPmSamplingObject,
                                    std::exchange(sampler_, nullptr));
  static_cast<void>(cupti_.try_call(OCC_CUPTI(cuptiPmSamplingDisable), params));
}

void PmSession::set_config(Trigger trigger, double interval_ns, std::size_t hardware_bytes) {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_SetConfig_Params, pPmSamplingObject, sampler_);
  params.configSize = config_.size();
  params.pConfig = config_.data();
  params.hardwareBufferSize = hardware_bytes;
  params.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  params.samplingInterval = static_cast<std::uint64_t>(std::llround(interval_ns));
  const CUptiResult by_time = cupti_.try_call(OCC_CUPTI(cuptiPmSamplingSetConfig), params);
  if (by_time == CUPTI_SUCCESS) return;
  if (trigger == Trigger::time) Cupti::require(by_time, "cuptiPmSamplingSetConfig");
  // Turing and GA100 do not have that trigger.
  params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
  params.samplingInterval = static_cast<std::uint64_t>(std::llround(interval_ns * kSystemCyclesPerNs));
  cupti_.call(OCC_CUPTI(cuptiPmSamplingSetConfig), params);
}

void PmSession::initialize_image() {
  auto params =
      OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_CounterDataImage_Initialize_Params, pPmSamplingObject, sampler_);
  params.counterDataSize = image_.size();
  params.pCounterData = image_.data();
  cupti_.call(OCC_CUPTI(cuptiPmSamplingCounterDataImageInitialize), params);
  image_is_used_ = false;
}

void PmSession::start() {
  if (image_is_used_) initialize_image();
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_Start_Params, pPmSamplingObject, sampler_);
  cupti_.call(OCC_CUPTI(cuptiPmSamplingStart), params);
}

void PmSession::stop() {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_Stop_Params, pPmSamplingObject, sampler_);
  cupti_.call(OCC_CUPTI(cuptiPmSamplingStop), params);
}

void PmSession::try_stop() noexcept {
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_Stop_Params, pPmSamplingObject, sampler_);
  static_cast<void>(cupti_.try_call(OCC_CUPTI(cuptiPmSamplingStop), params));
}

PmSession::Decoded PmSession::decode() {
  image_is_used_ = true;
  auto params = OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_DecodeData_Params, pPmSamplingObject, sampler_);
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  const CUptiResult decoded = cupti_.try_call(OCC_CUPTI(cuptiPmSamplingDecodeData), params);
  Decoded result;
  result.overflow = params.overflow != 0 || decoded == CUPTI_ERROR_OUT_OF_MEMORY;
  if (!result.overflow) Cupti::require(decoded, "cuptiPmSamplingDecodeData");
  // Later samples are lost: decoding again finds nothing.
  result.full = params.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  auto info = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  cupti_.call(OCC_CUPTI(cuptiPmSamplingGetCounterDataInfo), info);
  result.samples = samples(info.numCompletedSamples);
  result.without_value = info.numCompletedSamples - result.samples.size();
  return result;
}

std::vector<PmSession::Sample> PmSession::samples(std::size_t completed) const {
  std::vector<Sample> result;
  result.reserve(completed);
  for (std::size_t i = 0; i < completed; ++i) {
    auto when =
        OCC_CUPTI_PARAMS_OF(CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject, sampler_);
    when.pCounterDataImage = image_.data();
    when.counterDataImageSize = image_.size();
    when.sampleIndex = i;
    cupti_.call(OCC_CUPTI(cuptiPmSamplingCounterDataGetSampleInfo), when);
    std::vector<double> values = host_->evaluate(metrics_, image_, i);
    const auto needed = std::span(values).first(needed_);
    if (!std::ranges::all_of(needed, [](double value) { return std::isfinite(value); })) continue;
    result.push_back({when.startTimestamp, when.endTimestamp, std::move(values)});
  }
  return result;
}

std::uint64_t cupti_time_ns() {
  std::uint64_t time = 0;
  static_cast<void>(OCC_CUPTI(cuptiGetTimestamp)(&time));
  return time;
}

SmSampler::SmSampler(int device_index, CuptiInterceptor intercept)
    : PmSession(device_index, kWindowMetrics, std::move(intercept), kUnitMetrics) {}

void SmSampler::configure(const SamplingWindow& window) {
  const std::size_t samples = (window.length_ns + kWindowMarginNs) / window.interval_ns;
  if (window.interval_ns != window_.interval_ns || window.length_ns != window_.length_ns)
    hardware_bytes_ = std::clamp(samples * kWindowBytesPerSample, kLeastWindowBytes, kMostWindowBytes);
  window_ = window;
  enable(Trigger::time, static_cast<double>(window.interval_ns), samples, hardware_bytes_);
}

std::vector<SmSample> SmSampler::read() {
  const Decoded decoded = decode();
  if (decoded.overflow) {
    // The hardware stops sampling until it is disabled.
    hardware_bytes_ = std::min(2 * hardware_bytes_, kMostWindowBytes);
    configure(window_);
    return {};
  }
  std::vector<SmSample> samples;
  samples.reserve(decoded.samples.size());
  for (const Sample& one : decoded.samples) {
    const std::vector<double>& values = one.values;
    samples.push_back({one.start_ns, one.end_ns, values[0], values[1], values[2], values[3], values[4]});
    if (values.size() == kWindowMetrics.size()) continue;
    if (const double cycles = values[5] / values[6]; std::isfinite(cycles))
      samples.back().tensor_cycles = cycles;
    if (std::isfinite(values[7])) samples.back().dram_busy_pct = values[7];
  }
  return samples;
}

}  // namespace occbench
