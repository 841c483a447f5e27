#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "measure/activity.hpp"
#include "record/case_record.hpp"
#include "simulate/timeline.hpp"

namespace occbench {

/// FOLDER/EXPERIMENT.CASE.KIND.csv, with '_' for what file systems or shells could mind in a case's name.
std::filesystem::path case_file(const std::filesystem::path& folder, const CaseIdentity& of,
                                std::string_view kind);

/// Occupancy over the time of a launch as CSV: experiment, case, time_us, active_warps_pct and
/// predicted_active_warps_pct. A line is the mean of the time from its own time_us to the next line's,
/// counted from the launch's first warp; empty = not known. What was measured ends with the first line of 0
/// that only such lines follow; the file ends where both have ended.
/// @param predicted of the same launch, in cycles of the clock that `measured` names; nullptr if there is
/// none
/// @param warp_slots warps that all SMs together can hold
std::string timeline_csv(const CaseIdentity& of, const Activity& measured, const Timeline* predicted,
                         double warp_slots);

}  // namespace occbench
