#pragma once

#include <filesystem>
#include <vector>

namespace occbench {

// The files of traced processes, beside the file of rows that they are made into: run.PID.entries of run.csv.

/// Variables that tell the injected library what to do: the file of rows, how many launches to count of each kernel and
/// configuration or one of the two words, a regular expression of the kernels to count, launches before any is counted (empty: until
/// the program repeats itself), and names of counters with spaces between.
inline constexpr const char* kTraceOutVariable = "OCCBENCH_TRACE_OUT";
inline constexpr const char* kTraceCountersVariable = "OCCBENCH_TRACE_COUNTERS";
inline constexpr const char* kTracePaced =
    "auto";  ///< as kTraceSampled after some seconds; one, and more while that costs little, before
inline constexpr const char* kTraceSampled =
    "sampled";  ///< none: the GPU is sampled; as kTracePaced where it cannot be
inline constexpr const char* kTraceKernelsVariable = "OCCBENCH_TRACE_KERNELS";
/// 1 = launches in different regions are different kernels.
inline constexpr const char* kTraceRegionsVariable = "OCCBENCH_TRACE_REGIONS";
/// Names the one region whose launches get counters.
inline constexpr const char* kTraceOnlyVariable = "OCCBENCH_TRACE_ONLY";
inline constexpr const char* kTraceAfterVariable = "OCCBENCH_TRACE_AFTER";
/// Names files that sampling windows are appended to, with a dot and the process's number behind: for a timeline, and for the development
/// of their attribution.
inline constexpr const char* kTraceWindowsVariable = "OCCBENCH_TRACE_WINDOWS";
inline constexpr const char* kTraceMetricsVariable = "OCCBENCH_TRACE_METRICS";

/// An empty file of a process that nobody else has, beside `out`: run.PID.entries, or run.PID-2.entries where the process has
/// one already from before it executed another program. @throws InputError if none can be made
std::filesystem::path make_entry_file(const std::filesystem::path& out, int process);

/// The files that processes have beside `out`, in order: of those named so, the ones that begin as such files do.
/// @throws InputError if one is no regular file
std::vector<std::filesystem::path> entry_files(const std::filesystem::path& out);

/// Removes files of processes.
void remove_entry_files(const std::vector<std::filesystem::path>& files);

}  // namespace occbench
