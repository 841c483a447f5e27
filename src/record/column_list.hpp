#pragma once

#include <string>

namespace occbench {

/// How the table of columns is written.
enum class ColumnListFormat {
  table,     ///< for a terminal
  markdown,  ///< the whole of results/README.md
  csv,
  json,  ///< what the Python parts read
};

/// Every column with name, type, unit, gate rule, hardware counter and meaning.
std::string column_list(ColumnListFormat format);

}  // namespace occbench
