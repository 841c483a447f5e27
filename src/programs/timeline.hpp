#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>

#include "programs/process_entries.hpp"

namespace occbench {

/// Where a traced process keeps its sampling windows (src/trace/sampler.hpp).
std::filesystem::path windows_of(const std::filesystem::path& timeline, int process);

/// Writes what the sampling windows of processes held as a Chrome trace, which Perfetto opens: for each GPU of a process counter tracks of
/// the SMs' occupancy, of the time in which they were active and of the resident blocks of kernels that are told apart, and slices of the
/// kernels, with theory, achieved occupancy and the loss between them, and of the windows. Between windows counters are 0.
/// @param processes files that processes wrote. Those of their windows are removed.
/// @returns how many windows there were
/// @throws InputError if a file cannot be read or written
std::size_t write_timeline(const std::filesystem::path& timeline,
                           std::span<const std::filesystem::path> processes);

/// One process's part: events with a comma behind each. @param from_ns where the trace's times begin. @returns how many windows
std::size_t append_timeline(std::string& events, const TracedProcess& process, std::istream& windows,
                            std::uint64_t from_ns);

}  // namespace occbench
