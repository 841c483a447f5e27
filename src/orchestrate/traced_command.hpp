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

/// What to run under the library that traces it.
struct TraceCommand {
  std::vector<std::string> words;     ///< the program and its arguments
  std::string counters = "auto";      ///< "auto", "sampled", "off" or a number of launches
  std::string kernels;                ///< regular expression of those to count; empty = all
  std::optional<std::int64_t> after;  ///< launches before the first that is counted
  bool regions = false;               ///< a row for each region and kernel
  std::string only;                   ///< the region whose launches alone get counters; empty = all
  std::filesystem::path timeline;     ///< a Chrome trace of what windows held; empty = none
};

/// @throws InputError for wrong options
void check(const TraceCommand& command);

/// Runs a command with its own input and output, and the library in each of its processes that uses CUDA.
/// Signals that would end occbench go to the command. Where the library cannot be used, says why and runs
/// the command without it.
/// Says so where no process of the command has a file.
/// @param command one that check() let through
/// @param metrics hardware counters that rows of programs need
/// @param on_start is called once the command runs
/// @returns what the command ended with, 128 + N for signal N
/// @throws InputError if there is no such command
ExitStatus run_traced(const TraceCommand& command, const std::vector<std::string>& metrics,
                      const std::filesystem::path& out, Console& console,
                      const std::function<void()>& on_start);

/// As /proc/driver/nvidia/version has it; empty without a driver.
std::string nvidia_module_version();

}  // namespace occbench
