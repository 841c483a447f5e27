#include "record/json.hpp"

#include <cmath>
#include <type_traits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {

using Json = nlohmann::ordered_json;

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

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text, std::string_view source) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: {}", source, error.what()));
  }
}

}  // namespace occbench
