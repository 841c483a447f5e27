#pragma once

#include <span>
#include <string>

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

/// How far theory, and where there are some the predictions, are from the counter over cases that have it,
/// in a sentence; empty if none has.
std::string agreement(std::span<const CaseRecord> records);

}  // namespace occbench
