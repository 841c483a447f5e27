#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/instruments.hpp"
#include "harness/measure_case.hpp"
#include "harness/plan.hpp"

namespace occbench {

/// A case that is ready on the device, as the steps of its measurement launch it. Its buffers go with it.
class ReadyCase {
 public:
  /// @throws CannotRun, CudaError
  ReadyCase(const PlannedCase& planned, const Device& device, Instruments& instruments);

  /// Checks the result, and launches once more, so that the launch finds its code in the caches. @throws
  /// CannotRun, CudaError
  Check check_and_launch();

  /// As Prepared::lost_updates_pct.
  std::optional<double> lost_updates_pct();

  /// Microseconds of one launch. @throws CudaError
  double time_launch();

  /// Does what comes before a launch that is counted, sampled or traced.
  void make_ready();

  /// One launch, from its queue to its end. @throws CudaError
  void launch_and_wait();

  /// As Prepared::trace.
  std::vector<WarpRecord> trace();

  Amount useful() const;

 private:
  Instruments& instruments_;
  bool cold_;
  std::unique_ptr<Prepared> prepared_;
};

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

/// What times say of a case. @param useful work of a launch @pre `microseconds` is not empty
Times times_of(const std::vector<double>& microseconds, bool throttled, const Amount& useful);

/// Makes the times of a case of launches that Google Benchmark timed. A few more are timed where those are
/// too few for a median; all are timed once more where a throttle or something passing spoiled them.
/// @param microseconds  of the launches so far
/// Ends early where the user asks to stop; the times then are not whole.
/// @throws what a launch throws; the times until then stay
void time_case(ReadyCase& ready, std::vector<double> microseconds, GpuWatch& watch, MeasuredCase& into);

}  // namespace occbench
