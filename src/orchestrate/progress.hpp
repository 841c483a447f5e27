#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "orchestrate/console.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// Cases as lines of a table for a terminal: the three occupancies side by side, time and verdict.
class RowTable {
 public:
  /// @param name_width characters of the longest "experiment/case"; longer ones are cut in the middle
  explicit RowTable(std::size_t name_width);

  std::string header() const;
  std::string line(const CaseRecord& record) const;

 private:
  std::size_t name_width_;
};

/// Mean distance of theory, and of the predictions if there are any, from the counter over cases that have it, in a
/// sentence. Empty if none has, or they are simulated.
std::string agreement(std::span<const CaseRecord> records);

/// Prints cases as they end, and on a terminal a last line with the remaining time.
class Progress {
 public:
  /// @param total number of cases still to come
  /// @param name_width as for RowTable
  Progress(std::size_t total, std::size_t name_width, Console& console);

  void add(const CaseRecord& record);

  /// @param running the case or experiment being measured
  void show(const std::string& running);

  /// Removes the last line, before other output.
  void clear();

 private:
  RowTable table_;
  Console& console_;
  bool terminal_;
  bool shown_ = false;
  std::size_t total_;
  std::size_t done_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace occbench
