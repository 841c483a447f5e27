#include "record/batch_file.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

/// Columns for option names and common short names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kOtherNames = {{
    {"cc", "compute_capability"},
    {"arch", "compute_capability"},
    {"block_size", "block_threads"},
    {"threads", "block_threads"},
    {"registers", "registers_per_thread"},
    {"regs", "registers_per_thread"},
    {"static_smem", "static_shared_bytes"},
    {"dynamic_smem", "dynamic_shared_bytes"},
    {"smem", "dynamic_shared_bytes"},
    {"shared_memory", "dynamic_shared_bytes"},
    {"cluster", "cluster_blocks"},
    {"grid", "grid_blocks"},
    {"sms", "sm_count"},
}};

bool is_counter(std::string_view name) {
  return name.find("__") != std::string_view::npos && name.find('.') != std::string_view::npos;
}

std::vector<std::string> names_read(const BatchColumns& columns) {
  std::vector<std::string> names(columns.needed.begin(), columns.needed.end());
  names.insert(names.end(), columns.optional.begin(), columns.optional.end());
  return names;
}

std::string nearest_to(std::string_view name, const BatchColumns& columns) {
  const auto other =
      std::ranges::find(kOtherNames, name, &std::pair<std::string_view, std::string_view>::first);
  if (other != kOtherNames.end()) return std::string(other->second);
  return nearest_names(name, names_read(columns), 1).front();
}

void check_names(std::span<const std::string> names, const BatchColumns& columns, std::string_view source) {
  for (const std::string_view name : columns.needed) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw InputError("{}: there is no column {} (needed: {})", source, name, fmt::join(columns.needed, ", "));
  }
  for (const std::string& name : names) {
    if (find_column(name) != nullptr || is_counter(name) ||
        std::ranges::find(columns.answers, name) != columns.answers.end())
      continue;
    throw InputError("{}, line 1: {} does not know the column '{}'; the nearest is {} (it reads {})", source,
                     columns.command, name, nearest_to(name, columns), fmt::join(names_read(columns), ", "));
  }
}

void write_sizes_in_full(const std::vector<std::string>& names, std::vector<std::string>& cells) {
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const Column* column = find_column(names[cell]);
    if (column == nullptr || column->unit != "B" || cells[cell].empty()) continue;
    const bool has_suffix = cells[cell].find_first_of("KkMmGg") != std::string::npos;
    if (has_suffix) cells[cell] = std::to_string(parse_size(cells[cell], column->name));
  }
}

}  // namespace

std::string batch_source(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

ExitStatus tell_unanswered(std::span<const Answered> rows, const CsvTable& table, const std::string& source,
                           std::ostream& err) {
  const auto is_unanswered = [](const Answered& row) { return !row.why_not.empty(); };
  const auto first = std::ranges::find_if(rows, is_unanswered);
  if (first == rows.end()) return ExitStatus::done;
  const std::string why = fmt::format(
      "{}, line {}: {}", source, table.lines[static_cast<std::size_t>(first - rows.begin())], first->why_not);
  const auto refused = std::ranges::count_if(rows, &Answered::refused);
  if (refused == std::ssize(rows)) throw InputError(why);
  fmt::print(err, "{} of {} rows have no answer, and their note says why; the first is {}\n",
             std::ranges::count_if(rows, is_unanswered), rows.size(), why);
  return refused > 0 ? ExitStatus::no_verdict : ExitStatus::done;
}

Row row_of_cells(const CsvTable& table, std::span<const std::string> cells) {
  Row row;
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (const Column* column = find_column(table.names[cell])) set_cell(row, *column, cells[cell]);
  }
  return row;
}

CsvTable read_batch(const std::string& file, const BatchColumns& columns) {
  const std::string source = batch_source(file);
  const std::string text = file == "-" ? read_text(std::cin, source) : read_text(std::filesystem::path(file));
  if (const std::string what = what_else_it_is(text); !what.empty())
    throw InputError("{} is no file of launches: {}", source, what);
  CsvTable table = parse_csv(text, source);
  check_names(table.names, columns, source);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    at_line(source, table.lines[row], [&] { write_sizes_in_full(table.names, table.rows[row]); });
  }
  return table;
}

}  // namespace occbench
