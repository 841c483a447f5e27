#pragma once

#include <span>

#include "record/row.hpp"
#include "schedule/device_profile.hpp"

namespace occbench {

/// The profile of the device that rows of the experiment `calibration` and their samples are of, named
/// `name`. It starts from the default's, whose bandwidth it keeps.
/// @throws InputError where the rows have no counters, or are of several devices.
DeviceProfile calibrate(std::span<const Row> rows, std::span<const Sample> samples, std::string_view name);

}  // namespace occbench
