#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/measure_case.hpp"
#include "harness/plan.hpp"
#include "occupancy/statuses.hpp"

// `occbench sweep --fastest`: the fastest configuration of a sweep, without measuring all.
namespace occbench {

/// Marks configurations with the same machine code, launch and arguments as another as skipped, before any is
/// launched.
void leave_out_same_code(std::vector<PlannedCase>& cases);

/// Outputs of the race's rows.
struct RaceOutput {
  std::function<void(const PlannedCase&)> begin;           ///< launches of it begin
  std::function<void(std::span<const MeasuredCase>)> end;  ///< these have their rows
};

/// Races the cases (record/race.hpp) and measures the fastest like every case. Each case gets a row: the fastest a
/// complete one; others that were launched their times, and a note why they are out.
/// @param known_us  the fastest time of the rows that an earlier process of this run has written
/// @returns no_verdict if the run must go on in another process or the user stopped it
ExitStatus measure_fastest(std::span<const PlannedCase> cases, const MeasureWith& with,
                           const RaceOutput& output, std::optional<double> known_us);

}  // namespace occbench
