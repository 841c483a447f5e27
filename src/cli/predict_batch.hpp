#pragma once

#include <string>

namespace occbench {

/// The note of a prediction with a profile that was made on no such GPU.
inline constexpr const char* kUnverified =
    "unverified: no such GPU was calibrated; the interval covers the range of every parameter of the profile "
    "(docs/any-gpu.md)";

/// Predicts every row of a CSV file ("-" = standard input), whose columns are named as in a recorded row: needed
/// are compute_capability, sm_count, block_threads, grid_blocks and registers_per_thread. Where the column work
/// is empty or not there, work that is equal for all blocks is inferred from sm_cycles_active_avg, or from
/// time_us and sm_clock_mhz; the column work_source says which. Work may be in microseconds (equal:100us) where
/// sm_clock_mhz is given.
/// @param profile  a built-in one or a file; empty = the best known of each row's GPU
/// @returns the same rows as CSV, with theory, prediction and explanation added; other columns stay as they are
/// @throws InputError with file, line and column
std::string predict_batch(const std::string& file, const std::string& profile);

}  // namespace occbench
