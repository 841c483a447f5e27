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

/// One case of one run as in files: a member for each line of columns.inc, and the columns that the user requested by
/// name. A CaseRecord is converted to it once, at the end, and read back from it once, at the start.
struct Row {
#define OCC_TEXT(NAME, ...) Text NAME;
#define OCC_INTEGER(NAME, ...) Integer NAME;
#define OCC_REAL(NAME, ...) Real NAME;
#define OCC_COUNTER(NAME, ...) Real NAME;
#define OCC_UNIT(...)
#include "record/columns.inc"

  /// Columns beyond the table (`--occ_metrics`, or a file of a newer version), by name, as read or to be
  /// written.
  std::vector<std::pair<std::string, std::string>> extra;

  bool operator==(const Row&) const = default;
};

/// "experiment/case", as filters, progress and Google Benchmark name a case.
inline std::string full_name(const Row& row) {
  return row.experiment + "/" + row.case_;
}

/// One reading behind a row's median: a time, or a counter's value in one launch. Long form.
struct Sample {
  std::string experiment;
  std::string case_name;
  std::string quantity;  ///< `time_us`, or the name of a counter
  std::int64_t index;    ///< 0, 1, ... within the case and quantity
  double value;

  bool operator==(const Sample&) const = default;
};

/// Hardware counters of a case: a member for each counter's and unit's line of columns.inc. It is the median over the
/// counted launches, in the column's unit. Empty = not read.
struct CounterValues {
#define OCC_TEXT(...)
#define OCC_INTEGER(...)
#define OCC_REAL(...)
#define OCC_COUNTER(NAME, ...) std::optional<double> NAME;
#define OCC_UNIT(NAME, ...) std::optional<double> NAME##_use_pct;
#include "record/columns.inc"

  bool operator==(const CounterValues&) const = default;
};

}  // namespace occbench
