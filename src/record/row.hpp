#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace occbench {

using Text = std::string;                     ///< empty = not known
using Integer = std::optional<std::int64_t>;  ///< empty = not measured, never 0
using Real = std::optional<double>;           ///< empty = not measured, never 0; always finite

/// One case of one run: a member for each line of columns.inc, and the columns that the user asked for by
/// name.
struct Row {
#define OCC_COLUMN(TYPE, NAME, UNIT, GATE, METRIC, SCALE, MEANING) TYPE NAME;
#include "record/columns.inc"
#undef OCC_COLUMN

  /// Columns beyond the table (`--occ_metrics`, or a file of a newer version), by name, as read or to be
  /// written.
  std::vector<std::pair<std::string, std::string>> extra;

  bool operator==(const Row&) const = default;
};

/// One reading behind a row's median: a time, or a counter's value in one launch. Long form.
struct Sample {
  std::string experiment;
  std::string case_name;
  std::string quantity;  ///< `time_us`, or the name of a counter
  std::int64_t index;    ///< 0, 1, ... within the case and quantity
  double value;

  bool operator==(const Sample&) const = default;
};

}  // namespace occbench
