#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/instruments.hpp"
#include "harness/planned_case.hpp"

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

}  // namespace occbench
