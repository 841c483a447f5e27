#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "record/row.hpp"

namespace occbench {

// How a bench binary tells whoever started it how far it is: a line of JSON when a case begins, and one when
// its row is in the file. The file of rows stays the only record of what was measured.

/// A case has begun; one that ends without its row took the process with it.
struct CaseBegun {
  std::string name;  ///< the column `case`
};

/// A case has its row in the file.
struct CaseEnded {
  Row row;
};

using CaseProgress = std::variant<CaseBegun, CaseEnded>;

/// With its line end.
std::string progress_line(const CaseProgress& progress);

/// @throws InputError for what progress_line does not write
CaseProgress parse_progress_line(std::string_view line);

}  // namespace occbench
