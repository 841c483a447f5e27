#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/warp_record.hpp"
#include "harness/measure_case.hpp"
#include "measure/activity.hpp"
#include "simulate/residency.hpp"

// Measurements of a case on request: occupancy over time, the work of each SM, and records of warps. Each uses
// launches of its own.
namespace occbench {

/// Samples occupancy over the time of one launch; empty if that is not possible or the launch had no warps. The note
/// has any error.
/// @param warp_slots  warps that all SMs together can hold
std::optional<Activity> sample_activity(const PlannedCase& planned, ReadyCase& ready,
                                        Instruments& instruments, double warp_slots, MeasuredCase& into);

/// Writes it, with the prediction beside it, to a folder.
void write_timeline(const Activity& activity, const std::filesystem::path& folder, double warp_slots,
                    MeasuredCase& into);

/// Records the warps of a case's launches if its placement is of interest, if a file per SM was requested, or if the
/// counters are closed and this kernel's records give the same value: achieved occupancy then is theirs. The note has
/// any error.
/// @param per_sm  folder for the file per SM
void record_warps_of_case(const PlannedCase& planned, ReadyCase& ready, Instruments& instruments,
                          const Device& device, const std::optional<std::filesystem::path>& per_sm,
                          const CounterSetup& counters, MeasuredCase& into);

// The files that these write.

/// FOLDER/EXPERIMENT.CASE.KIND.csv, with '_' for characters of a case's name that file systems or shells could
/// misread.
std::filesystem::path case_file(const std::filesystem::path& folder, const CaseIdentity& of,
                                std::string_view kind);

/// Occupancy over the time of a launch as CSV: experiment, case, time_us, active_warps_pct and
/// predicted_active_warps_pct. A line is the mean from its own time_us to the next line's, counted from the launch's
/// first warp; empty = not known. The measurement ends with the first line of 0 after which all are 0. The file ends
/// when both have ended.
/// @param predicted of the same launch, in cycles of the clock that `measured` names; nullptr if there is none
/// @param warp_slots warps that all SMs together can hold
std::string timeline_csv(const CaseIdentity& of, const Activity& measured, const Timeline* predicted,
                         double warp_slots);

/// Activity of each SM in each recorded launch as CSV: experiment, case, launch (from 0), sm, blocks, achieved_pct
/// (resident warps over the SM's maximum, in cycles in which it had any), start_order (1 for the SM that began first;
/// SMs that began at one step of the clock share a place), first_start_us and last_end_us (from the launch's first
/// start), replacement_latency_median_us (from the end of a block to the start of the next one on that SM; empty if
/// no block followed another) and replacements. Idle SMs have no line.
std::string per_sm_csv(const CaseIdentity& of, std::span<const std::vector<WarpRecord>> launches,
                       int warps_per_block, int max_warps_per_sm);

/// The first and the second recorded launch of a case. A difference between them does not come from the launch.
inline constexpr std::string_view kWarpRecordPrefixes[] = {"trace_", "trace_again_"};

/// Adds what a recorded launch of a case says, under names with `prefix` for `trace_`:
///   trace_achieved_pct           achieved occupancy of the recorded launch, one value
///   trace_sm                     for each block, in the order of the grid: the SM that ran it
///   trace_start_ns, trace_end_ns likewise: from the first block's start
///   trace_sm_cycles              likewise: from its start to its end on the clock of its SM
///   trace_replacement_latency_cycles       for each block that took an ended one's place: cycles in between
///   trace_most_blocks            for each SM that ran any, ascending: blocks resident at once
void add_warp_record_samples(SamplesOfCase& samples, std::span<const WarpRecord> records, int warps_per_block,
                             int max_warps_per_sm, std::string_view prefix = kWarpRecordPrefixes[0]);

}  // namespace occbench
