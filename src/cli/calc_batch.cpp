#include "cli/calc_batch.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/batch_file.hpp"
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

constexpr std::array<std::string_view, 2> kNeeded = {"compute_capability", "block_threads"};
constexpr std::array<std::string_view, 8> kOptional = {"registers_per_thread",
                                                       "static_shared_bytes",
                                                       "dynamic_shared_bytes",
                                                       "carveout_pct",
                                                       "barriers",
                                                       "cluster_blocks",
                                                       "grid_blocks",
                                                       "sm_count"};
/// What names and describes a row.
constexpr std::array<std::string_view, 4> kDescribing = {"case", "kernel", "parameters", "note"};

Row row_of(const CsvTable& table, const std::vector<std::string>& cells) {
  Row row;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (const Column* column = find_column(table.names[cell])) set_cell(row, *column, cells[cell]);
  }
  for (const std::string_view name : kNeeded) {
    if (cell_text(row, *find_column(name)).empty()) throw InputError(fmt::format("{} is empty", name));
  }
  if (row.case_.empty() && std::ranges::find(table.names, "case") != table.names.end())
    throw InputError("case is empty: it is the row's name");
  return row;
}

Question question_of(const Row& row) {
  Row asked;
  const auto take = [&](std::string_view name) {
    const Column& column = *find_column(name);
    set_cell(asked, column, cell_text(row, column));
  };
  std::ranges::for_each(kNeeded, take);
  std::ranges::for_each(kOptional, take);
  const bool registers_given = !cell_text(asked, *find_column("registers_per_thread")).empty();
  if (!registers_given) set_cell(asked, *find_column("registers_per_thread"), "0");
  const CaseRecord record = case_record(asked);
  const Question question{&limits_of(record.provenance.compute_capability.value()),
                          {record.launch.value(), record.compiled.value().usage},
                          record.provenance.sm_count,
                          {},
                          {},
                          registers_given};
  check_question(question);
  return question;
}

// As CSV what was asked is written as it was read.
Json answered(const CsvTable& table, const std::vector<std::string>& cells, AnswerFormat format) {
  const Row row = row_of(table, cells);
  const Json typed = format == AnswerFormat::json ? row_to_json(row) : Json();
  Json object = row_head("batch", "");
  object.erase("case");
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::string& name = table.names[cell];
    object[name] = typed.contains(name) ? typed[name] : Json(cells[cell]);
  }
  object.update(answer_json(question_of(row)));
  return object;
}

std::vector<std::string> names_of_answers() {
  std::vector<std::string> names = {"rank"};
  const Question any{&all_limits().back(), {{.block_threads = 32}, {}}, std::nullopt, {}};
  const Json answers = answer_json(any);
  for (const auto& [name, value] : answers.items()) names.push_back(name);
  return names;
}

/// Rows of equal occupancy share a rank and stay in the order of the file.
void rank(std::vector<Json>& rows) {
  const auto occupancy = [](const Json& row) { return row["theoretical_pct"].get<double>(); };
  std::ranges::stable_sort(rows, std::ranges::greater(), occupancy);
  for (std::size_t place = 0; place < rows.size(); ++place) {
    const bool as_before = place > 0 && occupancy(rows[place]) == occupancy(rows[place - 1]);
    rows[place]["rank"] = as_before ? rows[place - 1]["rank"] : Json(place + 1);
  }
}

std::string as_table(std::span<const Json> rows) {
  const bool named = !rows.empty() && rows[0].contains("case");
  const bool ranked = !rows.empty() && rows[0].contains("rank");
  std::vector<std::vector<std::string>> lines = {{named ? "case" : "", "compute capability", "threads",
                                                  "registers", "static B", "dynamic B", "theoretical",
                                                  "warps", "blocks", "limited by"}};
  if (ranked) lines[0].emplace_back("rank");
  const auto cell = [](const Json& row, const char* name) {
    return row.contains(name) ? cell_text(row[name]) : std::string();
  };
  for (const Json& row : rows) {
    lines.push_back({cell(row, "case"), cell(row, "compute_capability"), cell(row, "block_threads"),
                     cell(row, "registers_per_thread"), cell(row, "static_shared_bytes"),
                     cell(row, "dynamic_shared_bytes"), percent_text(row["theoretical_pct"]),
                     cell(row, "warps_per_sm"), cell(row, "blocks_per_sm"), cell(row, "limiter")});
    if (ranked) lines.back().push_back(cell(row, "rank") + (row["rank"] == 1 ? "  ◀ best" : ""));
  }
  if (!named) {
    for (std::vector<std::string>& line : lines) line.erase(line.begin());
  }
  return text_table(lines, named ? "<<>>>>>>><<" : "<>>>>>>><<");
}

std::vector<Json> answer_rows(const CsvTable& table, const std::string& source, AnswerFormat format) {
  std::vector<Json> rows;
  for (std::size_t index = 0; index < table.rows.size(); ++index) {
    try {
      rows.push_back(answered(table, table.rows[index], format));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, line {}: {}", source, table.lines[index], error.what()));
    }
  }
  return rows;
}

}  // namespace

std::string answer_batch(const std::string& file, AnswerFormat format, BatchOrder order) {
  const std::string source = batch_source(file);
  BatchColumns columns{.command = "calc",
                       .needed = {kNeeded.begin(), kNeeded.end()},
                       .optional = {kOptional.begin(), kOptional.end()},
                       .answers = names_of_answers()};
  columns.optional.insert(columns.optional.end(), kDescribing.begin(), kDescribing.end());
  const CsvTable table = read_batch(file, columns);
  std::vector<Json> rows = answer_rows(table, source, format);
  if (order == BatchOrder::ranked) rank(rows);
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
