#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "record/csv.hpp"

namespace occbench {

/// A GPU that lacks cases that another GPU of the same files has.
struct Gap {
  std::string gpu;  ///< UUID, or host if there is none
  std::string host;
  std::size_t missing = 0;
  std::vector<std::string> first;  ///< full names of a few of them
};

/// Result of a merge.
struct Merged {
  bool stopped = false;  ///< before the end: nothing is written
  std::size_t rows = 0;
  std::size_t gpus = 0;
  std::size_t cases = 0;
  std::size_t duplicates = 0;  ///< rows that were left out because an equal one exists
  std::size_t conflicts = 0;   ///< rows of a GPU and a case that has another row; both are kept
  std::vector<std::string>
      conflict_places;  ///< "FILE, line N, and FILE, line N: GPU, experiment/case", a few
  std::vector<std::string>
      torn;  ///< files of rows or samples whose last line has no end; that line is left out
  std::vector<Gap> gaps;
  bool simulated = false;      ///< the rows are simulated
  bool samples = false;        ///< whether samples of all files are in FILE.samples.csv
  bool lacks_samples = false;  ///< although each file has its own, because samples name no GPU
  std::vector<std::filesystem::path> without_samples;  ///< files without samples, if others have some
  std::filesystem::path
      kept_rows;  ///< further name of a FILE that has rows which the merged ones lack; empty if none was lost
  std::vector<SetAside> kept_samples;  ///< FILE.samples.csv and FILE.samples.csv.gz of other rows

  bool whole() const {
    return !stopped && conflicts == 0 && torn.empty() && gaps.empty();
  }
};

/// Writes the rows of files into one, in the order of the files, and the samples beside them if each case is in one
/// file only. Stops when `stopped` says so. Memory grows by about 30 bytes a row. `out` is the old file or the new
/// one, complete.
/// @throws InputError if a file is not of rows, none has a row, the files' columns or schemas differ, some are
/// simulated, or `out` is one of them or of their samples, is being written by another process or cannot be written
Merged merge_files(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                   const std::function<bool()>& stopped);

}  // namespace occbench
