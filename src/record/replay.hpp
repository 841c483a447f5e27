#pragma once

#include <optional>

#include "occupancy/launch.hpp"
#include "predict/prediction.hpp"
#include "record/row.hpp"

namespace occbench {

// A recorded row says everything that theory and prediction need: both can be computed again anywhere.

/// The launch that a row records. @throws InputError naming a column that it needs and that the row lacks, or
/// a value beyond any launch's.
Launch launch_of(const Row& row);

/// The GPC that a row's launches began with, empty where it was left to what ran before. @throws InputError
/// as launch_of() does.
std::optional<int> first_gpc_of(const Row& row);

/// The kernel's usage that a row records; what the row lacks is 0. @throws InputError without
/// registers_per_thread.
Usage usage_of(const Row& row);

/// Writes a prediction into the columns for it.
void set_prediction(Row& row, const Prediction& prediction);

/// What is predicted for a row from its launch, the GPC that it began with, usage, work, compute capability
/// and number of SMs, with the given profile, else the built-in one that the row names, else the one for such
/// a device; empty for a row without work. @throws InputError naming a column that is needed and lacking, or
/// is out of range.
std::optional<Prediction> prediction_of(const Row& row,
                                        const std::optional<DeviceProfile>& profile = std::nullopt);

/// Predicts a row again, as prediction_of() does. A row without work (no kernel's work is known, or the case
/// is several launches) loses the prediction that it had. @throws InputError naming a column that is needed
/// and lacking.
void repredict(Row& row, const std::optional<DeviceProfile>& profile = std::nullopt);

}  // namespace occbench
