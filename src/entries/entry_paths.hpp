#pragma once

#include <filesystem>
#include <vector>

namespace occbench {

// The files of traced processes, beside the file of rows made from them: run.PID.entries for run.csv.

/// Environment variables for the injected library: the file of rows; launches to count per kernel and configuration, or one of the two
/// words; a regular expression of kernels to count; launches before any is counted (empty: until the program repeats itself); and counter
/// names separated by spaces.
inline constexpr const char* kTraceOutVariable = "OCCBENCH_TRACE_OUT";
inline constexpr const char* kTraceCountersVariable = "OCCBENCH_TRACE_COUNTERS";
inline constexpr const char* kTracePaced =
    "auto";  ///< as kTraceSampled after some seconds; before, one, and more while that costs little
inline constexpr const char* kTraceSampled =
    "sampled";  ///< none: the GPU is sampled; as kTracePaced if it cannot be
inline constexpr const char* kTraceKernelsVariable = "OCCBENCH_TRACE_KERNELS";
/// 1 = launches in different regions are different kernels.
inline constexpr const char* kTraceRegionsVariable = "OCCBENCH_TRACE_REGIONS";
/// Names the one region whose launches get counters.
inline constexpr const char* kTraceOnlyVariable = "OCCBENCH_TRACE_ONLY";
inline constexpr const char* kTraceAfterVariable = "OCCBENCH_TRACE_AFTER";
/// Files that sampling windows are appended to, with a dot and the process's number at the end: for a timeline, and for developing the
/// attribution.
inline constexpr const char* kTraceWindowsVariable = "OCCBENCH_TRACE_WINDOWS";
inline constexpr const char* kTraceMetricsVariable = "OCCBENCH_TRACE_METRICS";

/// Makes an empty file for one process, beside `out`: run.PID.entries, or run.PID-2.entries if the process has one from before it executed
/// another program. @throws InputError if none can be made
std::filesystem::path make_entry_file(const std::filesystem::path& out, int process);

/// The processes' files beside `out`, in order: those with such a name that begin with kEntriesMagic.
/// @throws InputError if one is not a regular file
std::vector<std::filesystem::path> entry_files(const std::filesystem::path& out);

/// Removes files of processes.
void remove_entry_files(const std::vector<std::filesystem::path>& files);

}  // namespace occbench
