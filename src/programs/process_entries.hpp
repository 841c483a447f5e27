#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "programs/program.hpp"

namespace occbench {

/// Windows in which GPUs were sampled.
struct SampledWindows {
  std::int64_t windows = 0;
  std::int64_t thrown_away = 0;  ///< whose blocks did not come out
  double attributed_us = 0;      ///< active time of launches that are known
  double unattributed_us = 0;    ///< other active time
};

/// What the injected library wrote in one process.
struct TracedProcess {
  std::vector<ProgramEntry> entries;  ///< one for each kernel that was launched or has run
  SampledWindows windows;
};

/// @throws InputError if it cannot be read, or is no such file of this version
TracedProcess read_process_file(const std::filesystem::path& file);

/// @param source names the bytes in messages
TracedProcess parse_process_entries(std::string_view bytes, std::string_view source);

}  // namespace occbench
