#include "record/progress_lines.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

constexpr const char* kBegun = "begun";
constexpr const char* kEnded = "ended";

}  // namespace

std::string progress_line(const CaseProgress& progress) {
  nlohmann::ordered_json object;
  if (const auto* begun = std::get_if<CaseBegun>(&progress)) object[kBegun] = begun->name;
  if (const auto* ended = std::get_if<CaseEnded>(&progress)) object[kEnded] = row_to_json(ended->row);
  return json_text(object, -1) + '\n';
}

CaseProgress parse_progress_line(std::string_view line) {
  const nlohmann::ordered_json object = parse_json(line, "a line of progress");
  if (object.contains(kBegun) && object[kBegun].is_string()) {
    return CaseBegun{object[kBegun].get<std::string>()};
  }
  if (object.contains(kEnded)) return CaseEnded{row_from_json(object[kEnded])};
  throw InputError(fmt::format("'{}' is no line of progress", line));
}

}  // namespace occbench
