#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "predict/calibration.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// What fit_parameters() fits a profile to.
struct Calibration {
  DeviceProfile profile;  ///< GPCs, clocks and bandwidth; every parameter where a fit begins
  Limits limits;
  std::vector<CalibrationLaunch> launches;
  bool clocks_are_known = false;
};

/// The profile of the device that rows of the experiment `calibration` and their samples are of, named
/// `name`, or where that is empty as name_of_profile() says. Bandwidth is that of those that read, or that of
/// a generic profile where none does. Rows of several units of
/// one kind of device give the kind's profile: groups of SMs and far TPCs are those of the first, whose
/// samples these are, cycles are fitted to all rows, and clocks, which each unit has its own of, fall by
/// chance.
/// @throws InputError where the rows have no counters, or are of several kinds of devices.
Calibration read_calibration(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                             std::string_view name);

/// The same, fitted.
DeviceProfile calibrate(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                        std::string_view name);

}  // namespace occbench
