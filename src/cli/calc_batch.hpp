#pragma once

#include <string>

namespace occbench {

/// How `occbench calc` writes its answers.
enum class AnswerFormat { table, csv, json };

/// The order of the rows that come out of a batch.
enum class BatchOrder {
  as_given,
  ranked,  ///< the most theoretical occupancy first, with a column `rank`; equal ones share a rank
};

/// Every row of a CSV file ("-" = standard input) with the answers added; columns that an answer names, as in
/// a recorded run, get the answer. Sizes in bytes may be written as 12K. The rows that come out are named by
/// the file's column `case`, and have the columns schema and experiment (`batch`) where the file has none:
/// with names they are rows that `gate` and `report` read. As a table only what was asked, the occupancy and
/// its limiter.
/// @throws InputError with file, line and column; for a column that calc does not know, with the nearest
/// name.
std::string answer_batch(const std::string& file, AnswerFormat format, BatchOrder order);

}  // namespace occbench
