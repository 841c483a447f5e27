#include "measure/pm_sampling.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "measure/pm_session.hpp"

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

double interval_ns(double expected_us) {
  const double wanted = std::clamp(1000 * expected_us / kWantedSamples, kFinestNs, kCoarsestNs);
  return std::max(wanted, 1000 * expected_us / kMostSamples);
}

}  // namespace

const std::vector<std::string> kActivityMetrics = {"sm__warps_active.sum", "sm__cycles_active.max",
                                                   "sm__cycles_elapsed.avg"};

PmSampling::PmSampling(const Device& device, CuptiInterceptor intercept)
    : session_(std::make_unique<PmSession>(device.index, kActivityMetrics, std::move(intercept))) {}
PmSampling::~PmSampling() = default;
PmSampling::PmSampling(PmSampling&&) noexcept = default;
PmSampling& PmSampling::operator=(PmSampling&&) noexcept = default;

ActivitySamples PmSampling::sample(double expected_us, const std::function<void()>& launch) {
  const double interval = interval_ns(expected_us);
  const double samples = (1000 * expected_us + kMarginNs) / interval;
  const double bytes = std::clamp(samples * kHardwareBytesPerSample, kLeastHardwareBytes, kMostHardwareBytes);
  session_->enable(PmSession::Trigger::time_or_system_clock, interval, static_cast<std::size_t>(samples),
                   static_cast<std::size_t>(bytes));
  session_->start();
  try {
    launch();
  } catch (...) {
    session_->try_stop();
    session_->disable();
    throw;
  }
  session_->stop();
  const PmSession::Decoded decoded = session_->decode();
  session_->disable();
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

}  // namespace occbench
