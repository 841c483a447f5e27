#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "measure/activity.hpp"
#include "measure/cupti.hpp"

namespace occbench {

class PmSession;

/// Sampled are warps, and the cycles that they are divided by. One pass on every chip of compute capability
/// 7.5 or later that CUPTI 13.0 knows.
extern const std::vector<std::string> kActivityMetrics;

/// Samples how many warps are resident on all SMs together while a launch runs, by CUPTI's PM sampling: the
/// hardware writes down its counters at a fixed interval, whatever the SMs do. It finds the hardware busy
/// while there are Counters of the device. Not thread-safe.
class PmSampling {
 public:
  /// @throws CountersUnavailable
  explicit PmSampling(const Device& device, CuptiInterceptor intercept = {});
  ~PmSampling();
  PmSampling(PmSampling&&) noexcept;
  PmSampling& operator=(PmSampling&&) noexcept;

  /// Samples all that `launch` does, which must queue one launch and wait until it has ended.
  /// @param expected_us how long the launch takes: at most 1 us lies between two samples of a launch of up to
  /// 20 ms, more of a longer one
  /// @throws CountersUnavailable; whatever `launch` throws
  ActivitySamples sample(double expected_us, const std::function<void()>& launch);

 private:
  std::unique_ptr<PmSession> session_;
};

}  // namespace occbench
