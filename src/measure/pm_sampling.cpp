#include "measure/pm_sampling.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "measure/cupti_library.hpp"

namespace occbench {
namespace {

/// Below it the SMs' counters of one sample do not fit each other (seen on an H200 at 100 ns).
constexpr double kFinestNs = 250;
constexpr double kCoarsestNs = 1000;
/// Samples that a short launch should have.
constexpr double kWantedSamples = 400;
/// A launch that would need more at kCoarsestNs has them further apart.
constexpr double kMostSamples = 20'000;
/// Time before and after the launch that is sampled too (1.1 ms were seen).
constexpr double kMarginNs = 2.5e6;
/// What the hardware writes down of one sample (less than 13 KB on an H200, more than 2), and the least and
/// most that its buffer is given.
constexpr double kHardwareBytesPerSample = 16 << 10;
constexpr double kLeastHardwareBytes = 32 << 20;
constexpr double kMostHardwareBytes = 1 << 30;
/// Where the sampling hardware counts cycles of the system clock instead of nanoseconds. The samples say when
/// they were taken, so that nothing depends on how fast that clock is.
constexpr double kSystemCyclesPerNs = 1.5;

double interval_ns(double expected_us) {
  const double wanted = std::clamp(1000 * expected_us / kWantedSamples, kFinestNs, kCoarsestNs);
  return std::max(wanted, 1000 * expected_us / kMostSamples);
}

/// The device's PM sampling between enable and disable.
class Sampler {
 public:
  Sampler(const Cupti& cupti, int device_index) : cupti_(&cupti) {
    auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_Enable_Params);
    params.deviceIndex = static_cast<std::size_t>(device_index);
    cupti_->call("cuptiPmSamplingEnable", cuptiPmSamplingEnable, params);
    sampler_ = params.pPmSamplingObject;
  }
  ~Sampler() {
    auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_Disable_Params);
    params.pPmSamplingObject = sampler_;
    static_cast<void>(cupti_->try_call("cuptiPmSamplingDisable", cuptiPmSamplingDisable, params));
  }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  CUpti_PmSampling_Object* get() const {
    return sampler_;
  }

 private:
  const Cupti* cupti_;
  CUpti_PmSampling_Object* sampler_ = nullptr;
};

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

const std::vector<std::string> kActivityMetrics = {"sm__warps_active.sum", "sm__cycles_active.max",
                                                   "sm__cycles_elapsed.avg"};

class PmSampling::Session {
 public:
  Session(const Device& device, CuptiInterceptor intercept)
      : cupti_(std::move(intercept)),
        device_index_(device.index),
        chip_(supported_chip(cupti_, device_index_, Profiler::pm_sampling)),
        availability_(counter_availability(cupti_, device_index_)),
        host_(cupti_, Profiler::pm_sampling, chip_, availability_) {
    Cupti::require(host_.try_add(kActivityMetrics), "cuptiProfilerHostConfigAddMetrics");
    config_ = host_.config_image();
    const std::size_t passes = passes_of(cupti_, config_);
    if (passes > 1) {
      throw CountersUnavailable(
          CountersStatus::unsupported,
          fmt::format("this GPU ({}) cannot sample {} at once", chip_, kActivityMetrics.front()));
    }
  }

  ActivitySamples sample(double expected_us, const std::function<void()>& launch) {
    // A sampler keeps its first interval until it is disabled.
    const Sampler sampler(cupti_, device_index_);
    const double interval = interval_ns(expected_us);
    const double samples = (1000 * expected_us + kMarginNs) / interval;
    set_config(sampler, interval, samples);
    std::vector<std::uint8_t> data(data_size(sampler, samples));
    initialize(sampler, data);
    run(sampler, launch);
    return decode(sampler, data);
  }

 private:
  void set_config(const Sampler& sampler, double interval, double samples) {
    auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_SetConfig_Params);
    params.pPmSamplingObject = sampler.get();
    params.configSize = config_.size();
    params.pConfig = config_.data();
    params.hardwareBufferSize = static_cast<std::size_t>(
        std::clamp(samples * kHardwareBytesPerSample, kLeastHardwareBytes, kMostHardwareBytes));
    params.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
    params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
    params.samplingInterval = static_cast<std::uint64_t>(std::llround(interval));
    if (cupti_.try_call("cuptiPmSamplingSetConfig", cuptiPmSamplingSetConfig, params) == CUPTI_SUCCESS)
      return;
    // Turing and GA100 do not have that trigger.
    params.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
    params.samplingInterval = static_cast<std::uint64_t>(std::llround(interval * kSystemCyclesPerNs));
    cupti_.call("cuptiPmSamplingSetConfig", cuptiPmSamplingSetConfig, params);
  }

  std::size_t data_size(const Sampler& sampler, double samples) {
    std::vector<const char*> names = pointers_to(kActivityMetrics);
    auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params);
    params.pPmSamplingObject = sampler.get();
    params.pMetricNames = names.data();
    params.numMetrics = names.size();
    params.maxSamples = static_cast<std::uint32_t>(samples);
    cupti_.call("cuptiPmSamplingGetCounterDataSize", cuptiPmSamplingGetCounterDataSize, params);
    return params.counterDataSize;
  }

  void run(const Sampler& sampler, const std::function<void()>& launch) {
    auto start = OCC_CUPTI_PARAMS(CUpti_PmSampling_Start_Params);
    start.pPmSamplingObject = sampler.get();
    cupti_.call("cuptiPmSamplingStart", cuptiPmSamplingStart, start);
    auto stop = OCC_CUPTI_PARAMS(CUpti_PmSampling_Stop_Params);
    stop.pPmSamplingObject = sampler.get();
    try {
      launch();
    } catch (...) {
      static_cast<void>(cupti_.try_call("cuptiPmSamplingStop", cuptiPmSamplingStop, stop));
      throw;
    }
    cupti_.call("cuptiPmSamplingStop", cuptiPmSamplingStop, stop);
  }

  ActivitySamples decode(const Sampler& sampler, std::vector<std::uint8_t>& data) {
    auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_DecodeData_Params);
    params.pPmSamplingObject = sampler.get();
    params.pCounterDataImage = data.data();
    params.counterDataImageSize = data.size();
    const CUptiResult decoded =
        cupti_.try_call("cuptiPmSamplingDecodeData", cuptiPmSamplingDecodeData, params);
    const bool overflow = params.overflow != 0 || decoded == CUPTI_ERROR_OUT_OF_MEMORY;
    if (!overflow) Cupti::require(decoded, "cuptiPmSamplingDecodeData");
    ActivitySamples result = read_samples(sampler, data);
    if (overflow) {
      result.losses.emplace_back("the hardware's buffer of samples overflowed, and samples are missing");
    }
    // What comes after is lost: decoding once more finds nothing.
    if (params.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL) {
      result.losses.push_back(fmt::format(
          "CUPTI's image of samples was full after {}, and the rest is missing", result.samples.size()));
    }
    return result;
  }

  void initialize(const Sampler& sampler, std::vector<std::uint8_t>& data) {
    auto params = OCC_CUPTI_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params);
    params.pPmSamplingObject = sampler.get();
    params.counterDataSize = data.size();
    params.pCounterData = data.data();
    cupti_.call("cuptiPmSamplingCounterDataImageInitialize", cuptiPmSamplingCounterDataImageInitialize,
                params);
  }

  ActivitySamples read_samples(const Sampler& sampler, const std::vector<std::uint8_t>& data) {
    auto info = OCC_CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params);
    info.pCounterDataImage = data.data();
    info.counterDataImageSize = data.size();
    cupti_.call("cuptiPmSamplingGetCounterDataInfo", cuptiPmSamplingGetCounterDataInfo, info);
    ActivitySamples result;
    for (std::size_t i = 0; i < info.numCompletedSamples; ++i) {
      auto when = OCC_CUPTI_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params);
      when.pPmSamplingObject = sampler.get();
      when.pCounterDataImage = data.data();
      when.counterDataImageSize = data.size();
      when.sampleIndex = i;
      cupti_.call("cuptiPmSamplingCounterDataGetSampleInfo", cuptiPmSamplingCounterDataGetSampleInfo, when);
      const std::vector<double> values = host_.evaluate(kActivityMetrics, data, i);
      if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) continue;
      result.samples.push_back({when.startTimestamp, when.endTimestamp, values[0], values[1], values[2]});
    }
    if (const std::size_t empty = info.numCompletedSamples - result.samples.size(); empty > 0) {
      result.losses.push_back(fmt::format("{} of {} samples have no value", empty, info.numCompletedSamples));
    }
    return result;
  }

  // Order matters: each is built from, and must be gone before, those above it.
  Cupti cupti_;
  int device_index_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  MetricHost host_;
  std::vector<std::uint8_t> config_;
};

PmSampling::PmSampling(const Device& device, CuptiInterceptor intercept)
    : session_(std::make_unique<Session>(device, std::move(intercept))) {}
PmSampling::~PmSampling() = default;
PmSampling::PmSampling(PmSampling&&) noexcept = default;
PmSampling& PmSampling::operator=(PmSampling&&) noexcept = default;

ActivitySamples PmSampling::sample(double expected_us, const std::function<void()>& launch) {
  return session_->sample(expected_us, launch);
}

}  // namespace occbench
