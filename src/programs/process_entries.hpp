#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string_view>
#include <vector>

#include "entries/entries.hpp"
#include "programs/program.hpp"

namespace occbench {

/// Entries that the injected library wrote in one process.
struct TracedProcess {
  std::vector<ProgramEntry> entries;   ///< one for each kernel that was launched or has run
  WindowTotals windows;                ///< of its GPUs together
  std::vector<std::uint32_t> numbers;  ///< of the entries' kernels in the process
  std::int64_t impossible = 0;  ///< kernels left out because no GPU can launch them: the file is broken
  int process = 0;
};

/// @throws InputError if it cannot be read, or is not such a file of this version
TracedProcess read_entry_file(const std::filesystem::path& file);

/// Entries of a traced command's processes.
struct MergedProcesses {
  std::vector<ProgramEntry> entries;
  WindowTotals windows;
  std::vector<std::filesystem::path> files;  ///< that were read
};

/// Reads the files of processes. Says on `err` which cannot be read, and if they have no launch.
MergedProcesses merged_processes(const std::vector<std::filesystem::path>& files, std::ostream& err);

/// @param source names the bytes in messages
TracedProcess parse_process_entries(std::string_view bytes, std::string_view source);

}  // namespace occbench
