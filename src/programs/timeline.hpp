#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>

#include "programs/process_entries.hpp"

namespace occbench {

/// Where a traced process keeps its sampling windows (src/trace/sampler.hpp).
std::filesystem::path windows_of(const std::filesystem::path& timeline, int process);

/// Writes the sampling windows of processes as a Chrome trace, which Perfetto opens. Each GPU of a process has counter tracks: the SMs'
/// occupancy, their active time, and the resident blocks of known kernels. It has slices of the windows and of the kernels, with theory,
/// achieved occupancy and the loss between them. Between windows counters are 0.
/// @param processes files that processes wrote. Their window files are removed.
/// @returns how many windows there were
/// @throws InputError if a file cannot be read or written
std::size_t write_timeline(const std::filesystem::path& timeline,
                           std::span<const std::filesystem::path> processes);

/// One process's part: events, each followed by a comma. @param from_ns zero of the trace's times. @returns how many windows
std::size_t append_timeline(std::string& events, const TracedProcess& process, std::istream& windows,
                            std::uint64_t from_ns);

}  // namespace occbench
