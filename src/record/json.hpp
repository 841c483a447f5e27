#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "record/row.hpp"

namespace occbench {

/// An object with every column by name, in the order of the CSV; what was not measured is null, text that is
/// not known an empty string. Columns beyond the table follow as text.
nlohmann::ordered_json row_to_json(const Row& row);

/// The reverse. A column that is missing or null is empty. @throws InputError naming the column and its value
/// where that is not what the column holds.
Row row_from_json(const nlohmann::ordered_json& object);

/// An array of rows, an object a line.
std::string rows_to_json(std::span<const Row> rows);

/// @throws InputError naming `source` where the text is not such an array.
std::vector<Row> parse_rows_json(std::string_view text, std::string_view source);

/// JSON as text, with two spaces of indent (-1: on one line); bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& value, int indent = 2);

/// Objects and arrays within each other: files that occbench reads have at most 5.
inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::string_view kTooDeep = "has objects or arrays within each other deeper than 64";

/// @throws InputError with `source`, and line and column as the parser states them; also where an object has a key
/// twice, values are nested deeper than kMaxJsonDepth or the text has a NUL, which the parser would take for its end.
nlohmann::ordered_json parse_json(std::string_view text, std::string_view source);

}  // namespace occbench
