#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/statuses.hpp"
#include "record/csv.hpp"

namespace occbench {

/// Columns of a --batch file for a command.
struct BatchColumns {
  std::string_view command;  ///< as messages name it
  std::vector<std::string_view> needed;
  std::vector<std::string_view> optional;
  std::vector<std::string> answers{};  ///< that the command writes; a file may already have them
};

/// "standard input" for "-", else the file's name.
std::string batch_source(const std::string& file);

/// Reads a --batch file, or standard input for "-". Byte sizes may have a suffix and are written in full: "12K"
/// becomes "12288". Other columns of recorded rows and hardware counters (sm__warps_active.sum) are skipped.
/// @throws InputError if it cannot be read, is not a CSV of launches, lacks a required column, or has an unknown
/// column, with the nearest known one
CsvTable read_batch(const std::string& file, const BatchColumns& columns);

/// Whether a row of a batch has an answer.
struct Answered {
  std::string why_not;   ///< empty if it has one
  bool refused = false;  ///< the row is wrong, not only incomplete
};

/// Reports how many rows have no answer, and why the first has none. @returns no_verdict if a row is refused
/// @throws InputError if all are refused
ExitStatus tell_unanswered(std::span<const Answered> rows, const CsvTable& table, const std::string& source,
                           std::ostream& err);

/// A row of the table, without columns that recorded rows do not have. @throws InputError as set_cell()
Row row_of_cells(const CsvTable& table, std::span<const std::string> cells);

}  // namespace occbench
