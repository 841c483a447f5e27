#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "programs/program.hpp"

namespace occbench {

/// What the injected library wrote in one process: an entry for each kernel that was launched or has run.
/// @throws InputError if it cannot be read, or is no such file of this version
std::vector<ProgramEntry> read_process_file(const std::filesystem::path& file);

/// @param source names the bytes in messages
std::vector<ProgramEntry> parse_process_entries(std::string_view bytes, std::string_view source);

}  // namespace occbench
