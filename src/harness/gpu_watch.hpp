#pragma once

#include <cstdint>

#include "harness/instruments.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// The condition of the GPU while the times of a case are taken.
class GpuWatch {
 public:
  /// `instruments` must outlive it.
  explicit GpuWatch(Instruments& instruments) : instruments_(instruments) {}

  /// Asks NVML. Reasons for lower clocks add up from look to look.
  void look();

  /// Looks, with the reasons that were seen so far forgotten.
  void forget_and_look();

  /// Whether heat or power held the clocks down at one of the looks.
  bool saw_throttle() const;

  /// As the last look found it, with the reasons of all.
  const Condition& condition() const {
    return condition_;
  }

  /// As NVML said last.
  const Integer& sm_clock_mhz() const {
    return sm_clock_mhz_;
  }

 private:
  Instruments& instruments_;
  Condition condition_;
  Integer sm_clock_mhz_;
  std::uint64_t event_reasons_ = 0;  ///< NVML's bits
};

}  // namespace occbench
