#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "record/row.hpp"

namespace occbench {

using Json = nlohmann::ordered_json;

/// An object with every column by name, in the order of the CSV. Unmeasured values are null, unknown text is an empty
/// string. Columns beyond the table follow as text.
Json row_to_json(const Row& row);

/// The columns of row_to_json() that have a value.
Json known_cells(const Row& row);

/// JSON as text, with two spaces of indent (-1: on one line); bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& value, int indent = 2);

/// A value of a flat object as a CSV cell: null is empty, reals as the recorded rows have them.
std::string cell_text(const Json& value);

/// Flat objects as CSV; the first line has the names of the first object.
std::string flat_csv(std::span<const Json> objects);

/// The same as a JSON array, one object per line.
std::string flat_json(std::span<const Json> objects);

/// Nesting depth of objects and arrays: files that occbench reads have at most 5.
inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::string_view kTooDeep = "has objects or arrays within each other deeper than 64";

/// @throws InputError with `source`, and the parser's line and column; also if an object has a key twice, values are
/// nested deeper than kMaxJsonDepth or the text has a NUL, which the parser would take for its end.
Json parse_json(std::string_view text, std::string_view source);

}  // namespace occbench
