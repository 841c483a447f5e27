#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "record/row.hpp"

namespace occbench {

/// A row and its line.
struct RecordedCase {
  Row row;
  std::size_t line = 0;  ///< in the run's file, from 1
  /// Interquartile range of achieved_elapsed_pct over the readings; empty if the run kept none.
  Real achieved_elapsed_spread_points = {};
};

/// A recorded file of rows and its samples.
struct RecordedRun {
  std::string source;
  std::vector<std::string> columns = {};  ///< as its first line names them; empty if the file is empty
  std::vector<RecordedCase> cases = {};
  bool torn = false;  ///< the last line has no end: the run was stopped while it wrote
  bool has_samples = false;
  std::string stray_samples = "";  ///< a file of samples that is torn or not of these rows, and so left out
  bool torn_samples = false;

  bool has_column(std::string_view name) const;
};

/// An empty file has no cases. @throws InputError with file, line and column if it is not a file of rows.
RecordedRun parse_run(std::string_view rows, std::string_view samples, std::string_view source);

/// With the samples of FILE.samples.csv or FILE.samples.csv.gz, if one exists. @throws InputError
RecordedRun read_run(const std::filesystem::path& file);

/// Files of a folder, by name. Samples, and files that are not a CSV, are left out.
struct FolderOfRuns {
  std::vector<std::filesystem::path> files = {};   ///< of rows
  std::vector<std::filesystem::path> others = {};  ///< of something else
};

FolderOfRuns runs_in(const std::filesystem::path& folder);

}  // namespace occbench
