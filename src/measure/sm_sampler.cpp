#include "measure/sm_sampler.hpp"

#include <algorithm>
#include <utility>

#include "measure/cupti_library.hpp"
#include "measure/pm_session.hpp"

namespace occbench {
namespace {

/// One pass on every chip from GA10x on that CUPTI 13.0 knows, and on Turing.
const std::vector<std::string> kMetrics = {"gr__ctas_launched.sum", "sm__warps_active.sum",
                                           "sm__cycles_active.sum", "sm__cycles_active.max",
                                           "sm__cycles_elapsed.avg"};

/// What the hardware writes down of one sample (up to 10.7 KB, H100).
constexpr std::size_t kHardwareBytesPerSample = 12 << 10;
constexpr std::size_t kLeastHardwareBytes = 32 << 20;
constexpr std::size_t kMostHardwareBytes = 512 << 20;

/// Of start and stop, which take 2.3 ms, 0.4 to 0.5 ms are sampled too (H100).
constexpr std::uint64_t kMarginNs = 700'000;

}  // namespace

std::uint64_t cupti_time_ns() {
  std::uint64_t time = 0;
  static_cast<void>(cuptiGetTimestamp(&time));
  return time;
}

SmSampler::SmSampler(int device_index, CuptiInterceptor intercept)
    : session_(std::make_unique<PmSession>(device_index, kMetrics, std::move(intercept))) {}
SmSampler::~SmSampler() = default;

void SmSampler::configure(const SamplingWindow& window) {
  const std::size_t samples = (window.length_ns + kMarginNs) / window.interval_ns;
  if (window.interval_ns != window_.interval_ns || window.length_ns != window_.length_ns)
    hardware_bytes_ = std::clamp(samples * kHardwareBytesPerSample, kLeastHardwareBytes, kMostHardwareBytes);
  window_ = window;
  session_->enable(PmSession::Trigger::time, static_cast<double>(window.interval_ns), samples,
                   hardware_bytes_);
}

void SmSampler::start() {
  session_->start();
}

void SmSampler::stop() {
  session_->stop();
}

std::vector<SmSample> SmSampler::read() {
  const PmSession::Decoded decoded = session_->decode();
  if (decoded.overflow) {
    // It samples no more until it is disabled.
    hardware_bytes_ = std::min(2 * hardware_bytes_, kMostHardwareBytes);
    configure(window_);
    return {};
  }
  std::vector<SmSample> samples;
  samples.reserve(decoded.samples.size());
  for (const PmSession::Sample& one : decoded.samples) {
    const std::vector<double>& values = one.values;
    samples.push_back({one.start_ns, one.end_ns, values[0], values[1], values[2], values[3], values[4]});
  }
  return samples;
}

}  // namespace occbench
