#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "record/csv.hpp"

namespace occbench {

/// @param row from 0
inline std::string table_cell(const CsvTable& table, std::size_t row, std::string_view name) {
  const auto column = std::ranges::find(table.names, name);
  return column == table.names.end()
             ? "no such column"
             : table.rows.at(row).at(static_cast<std::size_t>(column - table.names.begin()));
}

}  // namespace occbench
