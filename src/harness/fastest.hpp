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

/// Marks as skipped, with the reason, configurations that cannot be the fastest, before any is launched:
/// - the same machine code, launch and arguments as another;
/// - more spilled bytes than another that differs in its register cap alone and has as many blocks on an SM;
/// - fewer warps on an SM than the SM has schedulers, where another has enough: schedulers without a warp issue nothing;
/// - more than twice the predicted cycles of another, where all have work: that is as right as the work strings are.
void leave_out_hopeless(std::vector<PlannedCase>& cases, const Device& device, const ChosenProfile& profile);

/// Where the race's rows go.
struct RaceOutput {
  std::function<void(const PlannedCase&)> begin;              ///< launches of it begin
  std::function<void(const std::vector<MeasuredCase>&)> end;  ///< these have their rows
};

/// Races the cases (record/race.hpp) and measures the fastest as every case is measured. Each case gets a row: the
/// fastest all of it; others that were launched their times, and a note why they are out.
/// @param known_us  the fastest time of the rows that a resumed run has already
/// @returns no_verdict where the run must go on in another process or the user stopped it
ExitStatus measure_fastest(std::span<const PlannedCase> cases, const MeasureWith& with,
                           const RaceOutput& output, std::optional<double> known_us);

}  // namespace occbench
