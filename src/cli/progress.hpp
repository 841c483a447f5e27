#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/command.hpp"
#include "cli/row_table.hpp"

namespace occbench {

/// Prints cases as they end, and on a terminal a last line with what is left.
class Progress {
 public:
  /// @param total cases that are still to come
  /// @param name_width as for RowTable
  Progress(std::size_t total, std::size_t name_width, Console& console);

  void add(const CaseRecord& record);

  /// @param running what is being measured
  void show(const std::string& running);

  /// Takes the last line away, before other output.
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
