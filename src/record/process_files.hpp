#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "record/program.hpp"

namespace occbench {

// What `occbench trace` and the library in the traced processes agree on.

/// Environment variables of the traced processes: the file of rows (absolute), launches to count of each
/// kernel and configuration or kTracePaced, a regular expression of the kernels to count, and launches before
/// the first that is counted. The last two may be empty.
inline constexpr const char* kTraceOutVariable = "OCCBENCH_TRACE_OUT";
inline constexpr const char* kTraceCountersVariable = "OCCBENCH_TRACE_COUNTERS";
inline constexpr const char* kTracePaced = "auto";
inline constexpr const char* kTraceKernelsVariable = "OCCBENCH_TRACE_KERNELS";
inline constexpr const char* kTraceAfterVariable = "OCCBENCH_TRACE_AFTER";

/// FILE.PID.csv for FILE.csv, FILE.PID-2.csv where another program of that process, before exec, wrote the
/// first, and so on. The file is made, with no rows. @throws InputError if it cannot be
std::filesystem::path make_process_file(const std::filesystem::path& out, int process);

/// The files of processes beside FILE.csv, by name.
std::vector<std::filesystem::path> process_files(const std::filesystem::path& out);

/// Puts a process's rows and samples in the place of those written before. A reader finds the old or the new
/// ones, whole; what is written survives the process, not the machine. @throws std::exception if the disk is
/// full or the folder gone
void write_process_file(const std::filesystem::path& file, std::span<const ProgramEntry> entries);

/// @throws InputError if it is no such file
std::vector<ProgramEntry> read_process_file(const std::filesystem::path& file);

}  // namespace occbench
