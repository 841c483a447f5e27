#pragma once

#include <string>

namespace occbench {

/// How `occbench calc` writes its answers.
enum class AnswerFormat { table, csv, json };

/// Every row of a CSV file ("-" = standard input) with the answers added; columns that an answer names, as in
/// a recorded run, get the answer. As a table only what was asked, the occupancy and its limiter.
/// @throws InputError with file, line and column.
std::string answer_batch(const std::string& file, AnswerFormat format);

}  // namespace occbench
