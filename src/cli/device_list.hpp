#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/gpu_option.hpp"
#include "fleet/merge.hpp"
#include "orchestrate/devices.hpp"

namespace occbench {

/// merge_files(), and tells the console how many rows there are and which are missing or in conflict.
Merged merge_and_tell(
    std::span<const std::filesystem::path> files, const std::filesystem::path& out, Console& console,
    const std::function<bool()>& stopped = [] { return false; });

/// `--device`. @throws InputError, during parsing, for a value that names no GPU in any machine
CLI::Option* add_device_option(CLI::App& parser, std::string& device, const std::string& meaning);

/// The same for a command that measures one GPU.
CLI::Option* add_one_device_option(CLI::App& parser, std::string& device);

/// `--counters`, `--profile`, `--benches`, `--out` and `--resume` of a command that measures cases.
void declare_measuring(CLI::App& parser, RunOptions& options);

/// The rows of GPUs as one file, for EachDevice::merge. A GPU may lack cases that one of another model has.
bool merge_gpus(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                Console& console);

/// The options that a command was given, so that another process can do the same.
/// @param leave_out  names of options, "--out"
std::vector<std::string> arguments_of(const CLI::App& parser, std::span<const std::string> leave_out);

/// The shell command line that resumes a command whose rows are in `out`.
std::string resuming_command(const CLI::App& parser, const std::filesystem::path& out);

}  // namespace occbench
