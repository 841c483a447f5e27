#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "occupancy/statuses.hpp"
#include "orchestrate/console.hpp"

namespace occbench {

/// A command to run under the library that traces it.
struct TraceCommand {
  std::vector<std::string> words;     ///< the program and its arguments
  std::string counters = "auto";      ///< "auto", "sampled", "off" or a number of launches
  std::string kernels;                ///< regular expression of the kernels to count; empty = all
  std::optional<std::int64_t> after;  ///< launches before the first that is counted
  bool regions = false;               ///< a row for each region and kernel
  std::string only;                   ///< the only region whose launches get counters; empty = all
  std::filesystem::path timeline;     ///< a Chrome trace of the sampling windows; empty = none
};

/// @throws InputError for wrong options
void check(const TraceCommand& command);

/// Runs a command with its own input and output, and the library in each of its processes that uses CUDA. Signals
/// that would end occbench go to the command. If the library cannot be used, says why and runs the command without
/// it.
/// Says so if no process of the command has a file.
/// @param command one that check() accepted
/// @param metrics hardware counters for rows of programs
/// @param on_start is called once the command runs
/// @returns the exit status of the command, 128 + N for signal N
/// @throws InputError if there is no such command
ExitStatus run_traced(const TraceCommand& command, const std::vector<std::string>& metrics,
                      const std::filesystem::path& out, Console& console,
                      const std::function<void()>& on_start);

/// The version in /proc/driver/nvidia/version; empty without a driver.
std::string nvidia_module_version();

}  // namespace occbench
