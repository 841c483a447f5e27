#pragma once

#include <filesystem>
#include <string>

#include "cli/command.hpp"

namespace occbench {

/// The file of rows that the user names, or a new one in results/local/. @param what ends its name
std::filesystem::path output_file(const std::string& out, const std::string& what);

/// Renames rows that are there already, and says so, before a new run takes their name.
void keep_older_rows(const std::filesystem::path& out, Console& console);

}  // namespace occbench
