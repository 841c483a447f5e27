#pragma once

#include <filesystem>
#include <span>

#include "cli/command.hpp"
#include "fleet/merge.hpp"

namespace occbench {

/// merge_files(), with what came of it on the console: how many rows, and which are missing or in conflict.
Merged merge_and_tell(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                      MergeOf of, Console& console);

}  // namespace occbench
