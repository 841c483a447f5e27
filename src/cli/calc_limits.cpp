#include "cli/calc_limits.hpp"

#include <array>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/text_table.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/rules.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

/// What the table of several has room for: headings of terminals are narrow.
constexpr std::array<std::pair<std::string_view, const char*>, 12> kShown = {{
    {"max_warps_per_sm", "warps"},
    {"max_threads_per_sm", "threads"},
    {"max_blocks_per_sm", "blocks"},
    {"registers_per_sm", "registers"},
    {"max_registers_per_thread", "a thread"},
    {"register_allocation_unit", "unit"},
    {"shared_bytes_per_sm", "shared B"},
    {"max_shared_bytes_per_block_default", "a block"},
    {"max_shared_bytes_per_block", "opted in"},
    {"shared_allocation_unit", "unit"},
    {"reserved_shared_bytes_per_block", "reserved"},
    {"max_cluster_blocks", "cluster"},
}};

std::string carveouts(const Limits& limits) {
  return fmt::format("{}", fmt::join(limits.carveouts_kb, " "));
}

std::string table_of_one(const Limits& limits) {
  std::vector<std::vector<std::string>> lines;
  for (const LimitColumn& column : limit_columns()) {
    lines.push_back({std::string(column.name), grouped(column.value(limits)), std::string(column.unit),
                     std::string(column.meaning)});
  }
  lines.push_back({"carveouts_kb", carveouts(limits), "KB", "sizes that shared memory can be configured to"});
  return fmt::format("Compute capability {}\n\n", to_string(limits.compute_capability)) +
         text_table(lines, "<><<");
}

std::string table_of_several(std::span<const Limits> all) {
  std::vector<std::vector<std::string>> lines = {{"capability"}};
  for (const auto& [name, heading] : kShown) lines.front().emplace_back(heading);
  for (const Limits& limits : all) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(to_string(limits.compute_capability));
    for (const auto& [name, heading] : kShown) {
      for (const LimitColumn& column : limit_columns()) {
        if (column.name == name) line.push_back(std::to_string(column.value(limits)));
      }
    }
  }
  return "Per SM, unless the heading says otherwise; all limits of one: --cc CC, or --format csv\n\n" +
         text_table(lines, "<>");
}

Json limits_json(const Limits& limits, AnswerFormat format) {
  Json object = {{"compute_capability", to_string(limits.compute_capability)}};
  for (const LimitColumn& column : limit_columns()) object[std::string(column.name)] = column.value(limits);
  object["carveouts_kb"] = format == AnswerFormat::csv ? Json(carveouts(limits)) : Json(limits.carveouts_kb);
  return object;
}

}  // namespace

std::string limits_text(std::span<const Limits> all, AnswerFormat format) {
  if (format == AnswerFormat::table) return all.size() == 1 ? table_of_one(all[0]) : table_of_several(all);
  std::vector<Json> objects;
  for (const Limits& limits : all) objects.push_back(limits_json(limits, format));
  return format == AnswerFormat::csv ? flat_csv(objects) : flat_json(objects);
}

}  // namespace occbench
