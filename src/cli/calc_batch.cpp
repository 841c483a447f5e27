#include "cli/calc_batch.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"
#include "cli/text_table.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> kNeeded = {"compute_capability", "block_threads",
                                                "registers_per_thread"};
/// Other columns are the user's own, whatever they are called.
constexpr std::array<const char*, 7> kOptional = {
    "static_shared_bytes", "dynamic_shared_bytes", "carveout_pct", "barriers",
    "cluster_blocks",      "grid_blocks",          "sm_count"};

std::string read_batch(const std::string& file) {
  if (file != "-") return read_text(file);
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

Row row_of(const CsvTable& table, const std::vector<std::string>& cells) {
  Row row;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (const Column* column = find_column(table.names[cell])) set_cell(row, *column, cells[cell]);
  }
  for (const char* name : kNeeded) {
    if (cell_text(row, *find_column(name)).empty()) throw InputError(fmt::format("{} is empty", name));
  }
  return row;
}

Question question_of(const Row& row) {
  Row asked;
  const auto take = [&](const char* name) {
    const Column& column = *find_column(name);
    set_cell(asked, column, cell_text(row, column));
  };
  std::ranges::for_each(kNeeded, take);
  std::ranges::for_each(kOptional, take);
  const CaseRecord record = case_record(asked);
  const Question question{&limits_of(record.provenance.compute_capability.value()),
                          {record.launch.value(), record.compiled.value().usage},
                          record.provenance.sm_count,
                          {}};
  check_device(question);
  return question;
}

// As CSV what was asked is written as it was read.
Json answered(const CsvTable& table, const std::vector<std::string>& cells, AnswerFormat format) {
  const Row row = row_of(table, cells);
  const Json typed = format == AnswerFormat::json ? row_to_json(row) : Json();
  Json object;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::string& name = table.names[cell];
    object[name] = typed.contains(name) ? typed[name] : Json(cells[cell]);
  }
  object.update(answer_json(question_of(row)));
  return object;
}

std::string as_table(std::span<const Json> rows) {
  std::vector<std::vector<std::string>> lines = {{"compute capability", "threads", "registers", "static B",
                                                  "dynamic B", "theoretical", "warps", "blocks",
                                                  "limited by"}};
  const auto cell = [](const Json& row, const char* name) {
    return row.contains(name) ? cell_text(row[name]) : std::string();
  };
  for (const Json& row : rows) {
    lines.push_back({cell(row, "compute_capability"), cell(row, "block_threads"),
                     cell(row, "registers_per_thread"), cell(row, "static_shared_bytes"),
                     cell(row, "dynamic_shared_bytes"), percent_text(row["theoretical_pct"]),
                     cell(row, "warps_per_sm"), cell(row, "blocks_per_sm"), cell(row, "limiter")});
  }
  return text_table(lines, "<>>>>>>><");
}

}  // namespace

std::string answer_batch(const std::string& file, AnswerFormat format) {
  const std::string source = file == "-" ? "standard input" : file;
  const CsvTable table = parse_csv(read_batch(file), source);
  for (const char* name : kNeeded) {
    if (std::ranges::find(table.names, name) == table.names.end()) {
      throw InputError(
          fmt::format("{}: there is no column {} (needed: {})", source, name, fmt::join(kNeeded, ", ")));
    }
  }
  std::vector<Json> rows;
  for (std::size_t index = 0; index < table.rows.size(); ++index) {
    try {
      rows.push_back(answered(table, table.rows[index], format));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, line {}: {}", source, table.lines[index], error.what()));
    }
  }
  switch (format) {
    case AnswerFormat::csv:
      return flat_csv(rows);
    case AnswerFormat::json:
      return flat_json(rows);
    case AnswerFormat::table:
      break;
  }
  return as_table(rows);
}

}  // namespace occbench
