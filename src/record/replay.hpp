#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>

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
Prediction predict(const LaunchOnDevice& on, const Work& work, const ChosenProfile& profile,
                   std::optional<int> first_gpc, WorkOrigin origin = WorkOrigin::given);

/// The launch that a case records, with the limits table's line of its compute capability.
/// @throws InputError naming the column that is needed and lacking, or a compute
/// capability that the table lacks
LaunchOnDevice launch_on_device(const CaseRecord& record);

/// The GPU that a case records. What the row does not say is empty or 0.
GpuIdentity identity_of(const Provenance& provenance);

/// The profile that a case's prediction names: NAME.profile beside the rows, if it was made on the case's GPU
/// or on no GPU in particular, else a built-in one; else the best that is known of its GPU.
/// @throws InputError if that file is malformed
ChosenProfile profile_of(const CaseRecord& record);

/// Predicts a case again, from its launch, the GPC that it began with, usage, work and GPU, with the given
/// profile, else with profile_of() it. Inferred work is inferred again. A case without work (no kernel's work is known, or the
/// case is several launches) loses the prediction that it had. @throws InputError as launch_on_device() and predict() do.
void repredict(CaseRecord& record, const std::optional<DeviceProfile>& profile = std::nullopt);

/// What a case's prediction says of occupancy, with its interval: "predicted 75.2 % (90 %: 62 to 92; ...)", or
/// "reconstructed 75.2 % ..."; empty where the case has none.
std::string prediction_text(const CaseRecord& record);

/// A line for each GPU that predictions of cases did not know by a profile of its own (remark_on()).
std::set<std::string> remarks_on_profiles(std::span<const CaseRecord> cases);

}  // namespace occbench
