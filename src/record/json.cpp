#include "record/json.hpp"

#include <cmath>
#include <set>
#include <type_traits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const Json& value, std::string_view column, std::string_view wanted) {
  throw InputError(fmt::format("{} is not a {} for column {}", json_text(value, -1), wanted, column));
}

void read_cell(Text& cell, const Json& value, std::string_view column) {
  if (!value.is_string()) refuse(value, column, "text");
  cell = value.get<std::string>();
}

void read_cell(Integer& cell, const Json& value, std::string_view column) {
  if (!value.is_number_integer()) refuse(value, column, "whole number");
  cell = value.get<std::int64_t>();
}

void read_cell(Real& cell, const Json& value, std::string_view column) {
  if (!value.is_number()) refuse(value, column, "number");
  cell = value.get<double>();
}

}  // namespace

Json row_to_json(const Row& row) {
  Json object = Json::object();
  for (const Column& column : columns()) {
    std::visit(
        [&](auto member) {
          const auto& cell = row.*member;
          Json& value = object[std::string(column.name)];
          if constexpr (std::is_same_v<std::decay_t<decltype(cell)>, Text>) {
            value = cell;
          } else if (cell) {
            value = *cell;
          }
        },
        column.where);
  }
  for (const auto& [name, value] : row.extra) object[name] = value;
  return object;
}

Row row_from_json(const Json& object) {
  if (!object.is_object()) throw InputError("a row is not a JSON object: " + json_text(object, -1));
  Row row;
  for (const auto& item : object.items()) {
    const Json& value = item.value();
    if (value.is_null()) continue;
    if (const Column* column = find_column(item.key())) {
      std::visit([&](auto member) { read_cell(row.*member, value, column->name); }, column->where);
      require_in_range(row, *column);
    } else {
      row.extra.emplace_back(item.key(), value.is_string() ? value.get<std::string>() : json_text(value, -1));
    }
  }
  return row;
}

std::string rows_to_json(std::span<const Row> rows) {
  std::string text = "[";
  for (const Row& row : rows) text += (text.size() == 1 ? "\n  " : ",\n  ") + json_text(row_to_json(row), -1);
  return text + "\n]\n";
}

std::vector<Row> parse_rows_json(std::string_view text, std::string_view source) {
  const Json array = parse_json(text, source);
  if (!array.is_array()) throw InputError(fmt::format("{}: not an array of rows", source));
  std::vector<Row> rows;
  for (const Json& object : array) {
    try {
      rows.push_back(row_from_json(object));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, row {}: {}", source, rows.size() + 1, error.what()));
    }
  }
  return rows;
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text, std::string_view source) {
  if (text.find('\0') != std::string_view::npos)
    throw InputError(fmt::format("{} has a NUL character; JSON is text", source));
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (static_cast<std::size_t>(depth) >= kMaxJsonDepth)
      throw InputError(fmt::format("{} {}", source, kTooDeep));
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw InputError(
          fmt::format("{}: the key {} stands in an object twice", source, json_text(parsed, -1)));
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: {}", source, error.what()));
  }
}

}  // namespace occbench
