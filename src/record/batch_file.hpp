#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/statuses.hpp"
#include "record/csv.hpp"

namespace occbench {

/// What a command reads of a --batch file.
struct BatchColumns {
  std::string_view command;  ///< as messages name it
  std::vector<std::string_view> needed;
  std::vector<std::string_view> optional;
  std::vector<std::string> answers{};  ///< that the command writes, which a file may have from before
};

/// "standard input" for "-", else the file's name.
std::string batch_source(const std::string& file);

/// Reads a --batch file, or standard input for "-". Sizes in columns of bytes may have a suffix, and are written in
/// full: "12K" becomes "12288". Other columns of recorded rows and hardware counters (sm__warps_active.sum) are passed
/// over.
/// @throws InputError if it cannot be read, is no CSV of launches, lacks a column that is needed, or has one that the
/// command does not know, with the nearest that it does
CsvTable read_batch(const std::string& file, const BatchColumns& columns);

/// Whether a row of a batch has an answer.
struct Answered {
  std::string why_not;   ///< empty where it has one
  bool refused = false;  ///< it is wrong, not only incomplete
};

/// Says how many rows have no answer, and of the first why. @returns no_verdict where a row is refused
/// @throws InputError where all are
ExitStatus tell_unanswered(std::span<const Answered> rows, const CsvTable& table, const std::string& source,
                           std::ostream& err);

/// A row of the table; columns of no recorded row are left out. @throws InputError as set_cell()
Row row_of_cells(const CsvTable& table, std::span<const std::string> cells);

}  // namespace occbench
