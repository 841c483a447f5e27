#pragma once

#include <optional>

#include "predict/prediction.hpp"
#include "record/case_record.hpp"

namespace occbench {

// A recorded case says everything that theory and prediction need: both can be computed again anywhere.

/// A launch on a device, as theory and prediction need it.
struct LaunchOnDevice {
  Launch launch;
  Usage usage;
  Limits limits;
  int sm_count = 0;
};

/// Theoretical occupancy of it.
Occupancy theoretical_occupancy(const LaunchOnDevice& on);

/// What is predicted for it from what its blocks do.
/// @param first_gpc  the GPC that it begins with; empty = not known
/// @throws InputError as predict() does
Prediction predict(const LaunchOnDevice& on, const Work& work, const DeviceProfile& profile,
                   std::optional<int> first_gpc);

/// The launch that a case records, with the limits table's line of its compute capability.
/// @throws InputError with the case's name, naming the column that is needed and lacking, or a compute
/// capability that the table lacks
LaunchOnDevice launch_on_device(const CaseRecord& record);

/// Predicts a case again, from its launch, the GPC that it began with, usage, work, compute capability and
/// number of SMs, with the given profile, else the built-in one that the row names, else the one for such a
/// device. A case without work (no kernel's work is known, or the case is several launches) loses the
/// prediction that it had. @throws InputError as launch_on_device() and predict() do.
void repredict(CaseRecord& record, const std::optional<DeviceProfile>& profile = std::nullopt);

}  // namespace occbench
