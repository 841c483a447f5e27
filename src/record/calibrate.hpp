#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "predict/calibration.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// Input of fit_parameters().
struct Calibration {
  DeviceProfile profile;  ///< GPCs, clocks and bandwidth; all parameters at the start of a fit
  Limits limits;
  std::vector<CalibrationLaunch> launches;
  bool clocks_are_known = false;
};

/// Profile of the device that recorded the rows of the experiment `calibration` and their samples. It is named
/// `name`, or by name_of_profile() if that is empty. Bandwidth is from the launches that read, or from a generic
/// profile if none does.
/// Rows of several GPUs of one model give the model's profile. Groups of SMs and far TPCs are those of the first GPU,
/// whose samples these are. Cycles are fitted to all rows. Clocks differ per GPU and stay random.
/// @throws InputError if the rows have no counters or are of several models
Calibration read_calibration(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                             std::string_view name);

/// The same, fitted.
DeviceProfile calibrate(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                        std::string_view name);

}  // namespace occbench
