#pragma once

#include <optional>

namespace occbench {

/// What hardware counters said of a case: a member for each counter's line of columns.inc, the median over
/// the counted launches in the column's unit. Empty = not read.
struct CounterValues {
#define OCC_TEXT(...)
#define OCC_INTEGER(...)
#define OCC_REAL(...)
#define OCC_COUNTER(NAME, ...) std::optional<double> NAME;
#include "record/columns.inc"

  bool operator==(const CounterValues&) const = default;
};

}  // namespace occbench
