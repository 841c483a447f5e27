#include "record/json.hpp"

#include <set>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {

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

Json known_cells(const Row& row) {
  const Json all = row_to_json(row);
  Json known;
  for (const Column& column : columns()) {
    const std::string name(column.name);
    if (!cell_text(row, column).empty()) known[name] = all.at(name);
  }
  return known;
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return real_text(value.get<double>());
  return value.dump();
}

std::string flat_csv(std::span<const Json> objects) {
  std::string text;
  if (objects.empty()) return text;
  std::vector<std::string> cells;
  for (const auto& [name, value] : objects.front().items()) cells.push_back(name);
  text += csv_record(cells);
  for (const Json& object : objects)
    text += csv_record(mapped(object, [](const Json& value) { return cell_text(value); }));
  return text;
}

std::string flat_json(std::span<const Json> objects) {
  std::string text = "[";
  for (const Json& object : objects) {
    text += text.size() == 1 ? "\n  " : ",\n  ";
    text += json_text(object, -1);
  }
  return text + "\n]\n";
}

Json parse_json(std::string_view text, std::string_view source) {
  if (text.find('\0') != std::string_view::npos)
    throw InputError("{} has a NUL character; JSON is text", source);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw InputError("{} is empty, and JSON is wanted", source);
  std::vector<std::set<std::string>> keys;  // of the open objects
  const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (static_cast<std::size_t>(depth) >= kMaxJsonDepth) throw InputError("{} {}", source, kTooDeep);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw InputError("{}: the key {} stands in an object twice", source, json_text(parsed, -1));
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    throw InputError("{}: {}", source, error.what());
  }
}

}  // namespace occbench
