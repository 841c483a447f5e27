#include "record/csv.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/columns.hpp"
#include "record/row_stream.hpp"

namespace occbench {
namespace {

const std::vector<std::string> kSampleColumns = {"experiment", "case", "quantity", "index", "value"};

/// Walks through the records of a text.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::string_view source, std::size_t first_line = 1)
      : text_(text), source_(source), line_(first_line) {
    if (first_line == 1 && (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")))
      throw InputError("{} is UTF-16: save it as UTF-8", source);
    if (text_.starts_with(kByteOrderMark)) position_ = line_start_ = kByteOrderMark.size();
  }

  bool at_end() const {
    return position_ == text_.size();
  }
  std::size_t position() const {
    return position_;
  }
  std::size_t line() const {
    return line_;
  }

  enum class End { line, text, open_quote };
  struct Record {
    std::vector<std::string> cells;
    End end = End::text;
  };

  Record next(std::size_t expected_cells = 1) {
    Record record;
    record.cells.reserve(expected_cells);
    while (true) {
      if (!next_cell(record.cells.emplace_back())) record.end = End::open_quote;
      if (at_end()) return record;
      const char separator = text_[position_++];
      if (separator == ',') continue;
      // next_cell stops at a carriage return only in front of a line feed or the end of the text.
      if (separator == '\r' && at_end()) return record;
      if (separator == '\r') ++position_;
      start_line();
      record.end = End::line;
      return record;
    }
  }

  [[noreturn]] void fail(std::size_t position, std::string_view what) const {
    throw InputError("{}, line {}, column {}: {}", source_, line_, position - line_start_ + 1, what);
  }

 private:
  static bool ends_cell(char letter) {
    return letter == ',' || letter == '\n' || letter == '\r' || letter == '"';
  }

  void start_line() {
    ++line_;
    line_start_ = position_;
  }

  /// False if the text ends inside quotes.
  bool next_cell(std::string& cell) {
    if (!at_end() && text_[position_] == '"') return next_quoted_cell(cell);
    std::size_t end = position_;
    while (end < text_.size() && !ends_cell(text_[end])) ++end;
    cell = text_.substr(position_, end - position_);
    position_ = end;
    if (!at_end() && text_[end] == '"') fail(end, "a quote inside a cell that does not begin with one");
    expect_separator("a carriage return without a line feed");
    return true;
  }

  bool next_quoted_cell(std::string& cell) {
    ++position_;
    while (true) {
      const std::size_t end = text_.find_first_of("\"\n", position_);
      if (end == std::string_view::npos) {
        position_ = text_.size();
        return false;
      }
      cell += text_.substr(position_, end - position_);
      position_ = end + 1;
      if (text_[end] == '\n') {
        cell += '\n';
        start_line();
      } else if (!at_end() && text_[position_] == '"') {
        cell += '"';
        ++position_;
      } else {
        expect_separator("text after a closing quote");
        return true;
      }
    }
  }

  void expect_separator(std::string_view complaint) const {
    const std::string_view rest = text_.substr(position_);
    const bool fine =
        rest.empty() || rest[0] == ',' || rest[0] == '\n' || rest == "\r" || rest.starts_with("\r\n");
    if (!fine) fail(position_, complaint);
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t position_ = 0;
  std::size_t line_;
  std::size_t line_start_ = 0;
};

void check_names(const std::vector<std::string>& names, std::string_view source) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) throw InputError("{}, line 1: column '{}' occurs twice", source, name);
  }
}

void append_cell(std::string& record, std::string_view cell) {
  if (cell.find_first_of(",\"\n\r") == std::string_view::npos) {
    record.append(cell);
    return;
  }
  record.push_back('"');
  for (const char character : cell) {
    if (character == '"') record.push_back('"');
    record.push_back(character);
  }
  record.push_back('"');
}

void require_keys(const CsvTable& table, std::string_view source) {
  for (const Column& column : columns()) {
    if (column.gate == GateRule::key && std::ranges::find(table.names, column.name) == table.names.end()) {
      throw InputError("{}, line 1: no column '{}'; this is not a file of rows", source, column.name);
    }
  }
}

template <typename Number>
Number sample_number(const std::string& text, std::string_view what, std::string_view source,
                     std::size_t line) {
  if (const auto value = read_number<Number>(text)) return *value;
  throw InputError("{}, line {}: '{}' is not a {}", source, line, text, what);
}

}  // namespace

CsvTable parse_csv(std::string_view text, std::string_view source, LastLine last_line) {
  CsvScanner scanner(text, source);
  CsvTable table;
  bool have_names = false;
  while (!scanner.at_end()) {
    const std::size_t line = scanner.line();
    CsvScanner::Record record = scanner.next(table.names.size());
    const bool whole = record.end == CsvScanner::End::line;
    if (!whole && last_line == LastLine::torn) break;
    if (record.end == CsvScanner::End::open_quote) {
      throw InputError("{}, line {}: a quoted cell is not closed", source, line);
    }
    if (whole) table.whole_bytes = scanner.position();
    const bool blank = record.cells.size() == 1 && record.cells[0].empty();
    if (blank && table.names.size() != 1) continue;
    if (!have_names) {
      check_names(record.cells, source);
      table.names = std::move(record.cells);
      have_names = true;
      continue;
    }
    if (record.cells.size() != table.names.size()) {
      throw InputError("{}, line {}: {} cells where the first line names {} columns", source, line,
                       record.cells.size(), table.names.size());
    }
    table.rows.push_back(std::move(record.cells));
    table.lines.push_back(line);
  }
  if (!have_names) throw InputError("{} is empty: there is no line of column names", source);
  return table;
}

std::vector<std::string> csv_cells(std::string_view record, std::string_view source, std::size_t line) {
  CsvScanner scanner(record, source, line);
  CsvScanner::Record parsed = scanner.next();
  if (parsed.end == CsvScanner::End::open_quote || !scanner.at_end())
    throw InputError("{}, line {}: a quoted cell is not closed", source, line);
  return std::move(parsed.cells);
}

std::string csv_record(std::span<const std::string> cells) {
  // A record of one empty cell would be a blank line.
  if (cells.size() == 1 && cells[0].empty()) return "\"\"\n";
  std::string record;
  for (const std::string& cell : cells) {
    if (&cell != cells.data()) record.push_back(',');
    append_cell(record, cell);
  }
  record.push_back('\n');
  return record;
}

std::string csv_header(std::span<const std::string> extra) {
  std::vector<std::string> names;
  for (const Column& column : columns()) names.emplace_back(column.name);
  names.insert(names.end(), extra.begin(), extra.end());
  return csv_record(names);
}

std::string csv_record(const Row& row) {
  std::vector<std::string> cells =
      mapped(columns(), [&](const Column& column) { return cell_text(row, column); });
  for (const auto& [name, value] : row.extra) cells.push_back(value);
  return csv_record(cells);
}

std::string samples_header() {
  return csv_record(kSampleColumns);
}

std::string csv_record(const Sample& sample) {
  // The shortest decimals that read back as the same number.
  return csv_record(std::vector<std::string>{sample.experiment, sample.case_name, sample.quantity,
                                             fmt::format("{}", sample.index),
                                             fmt::format("{}", sample.value)});
}

std::vector<Row> rows_of(const CsvTable& table, std::string_view source) {
  require_keys(table, source);
  const std::vector<const Column*> known = mapped(table.names, find_column);
  std::vector<Row> rows;
  rows.reserve(table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Row& row = rows.emplace_back();
    for (std::size_t cell = 0; cell < known.size(); ++cell) {
      const std::string& text = table.rows[i][cell];
      if (known[cell] == nullptr) {
        row.extra.emplace_back(table.names[cell], text);
        continue;
      }
      at_line(source, table.lines[i], [&] { set_cell(row, *known[cell], text); });
    }
  }
  return rows;
}

CsvTable parse_row_table(std::string_view text, std::string_view source) {
  refuse_other_files(text, source);
  CsvTable table = parse_csv(text, source, LastLine::torn);
  const FromSchema2 conversion(table.names);
  table.names = conversion.names();
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    at_line(source, table.lines[i], [&] { table.rows[i] = conversion.cells(table.rows[i]); });
  return table;
}

std::vector<Row> parse_rows(std::string_view text, std::string_view source) {
  return rows_of(parse_row_table(text, source), source);
}

std::vector<Row> read_rows(const std::filesystem::path& file, bool* torn) {
  const std::string text = read_text(file);
  const CsvTable table = parse_row_table(text, file.string());
  if (torn != nullptr) *torn = table.whole_bytes != text.size();
  return rows_of(table, file.string());
}

std::filesystem::path samples_path(const std::filesystem::path& rows_file) {
  std::filesystem::path path = rows_file;
  if (path.extension() == ".csv") path.replace_extension();
  return path += ".samples.csv";
}

std::vector<std::filesystem::path> samples_forms(const std::filesystem::path& rows_file) {
  const std::filesystem::path samples = samples_path(rows_file);
  return {samples, samples.string() + ".gz"};
}

std::filesystem::path samples_beside(const std::filesystem::path& rows_file) {
  for (const std::filesystem::path& samples : samples_forms(rows_file)) {
    if (is_file_beside(samples, "the readings behind " + rows_file.string())) return samples;
  }
  return {};
}

void require_not_input(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs) {
  const auto is_same = [](const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code missing;
    return !one.empty() && !other.empty() &&
           (std::filesystem::equivalent(one, other, missing) ||
            std::filesystem::absolute(one).lexically_normal() ==
                std::filesystem::absolute(other).lexically_normal());
  };
  for (const std::filesystem::path& input : inputs) {
    for (const std::filesystem::path& written : {output, samples_path(output)}) {
      for (const std::filesystem::path& read : {input, samples_path(input), samples_beside(input)}) {
        if (!is_same(written, read)) continue;
        throw InputError("cannot write {}: {} {}; name another file", output.string(), written.string(),
                         read == input ? "is a file that is read" : "has the samples of " + input.string());
      }
    }
  }
}

std::vector<Sample> parse_samples(std::string_view text, std::string_view source) {
  const CsvTable table = parse_csv(text, source, LastLine::torn);
  std::vector<std::size_t> where;
  for (const std::string& name : kSampleColumns) {
    const auto found = std::ranges::find(table.names, name);
    if (found == table.names.end()) {
      throw InputError("{}, line 1: no column '{}'; this is not a file of samples", source, name);
    }
    where.push_back(static_cast<std::size_t>(found - table.names.begin()));
  }
  std::vector<Sample> samples;
  samples.reserve(table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto cell = [&](std::size_t column) -> const std::string& { return table.rows[i][where[column]]; };
    const auto index = sample_number<std::int64_t>(cell(3), "whole number", source, table.lines[i]);
    const auto value = sample_number<double>(cell(4), "finite number", source, table.lines[i]);
    samples.push_back({cell(0), cell(1), cell(2), index, value});
  }
  return samples;
}

std::vector<Sample> read_samples(const std::filesystem::path& samples_file) {
  return parse_samples(read_text(samples_file), samples_file.string());
}

bool has_names(std::string_view text, const std::vector<std::string_view>& names) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::vector<std::string_view> there = split(text.substr(0, text.find_first_of("\r\n")), ',');
  return std::ranges::all_of(
      names, [&](std::string_view name) { return std::ranges::find(there, name) != there.end(); });
}

std::string what_else_it_is(std::string_view text) {
  constexpr std::size_t kWithinTrace = 4000;
  const std::string_view in_trace = text.substr(0, kWithinTrace);
  const std::size_t begin = in_trace.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && in_trace[begin] == '{' &&
      (in_trace.find("\"traceEvents\"") != std::string_view::npos ||
       in_trace.find("\"schemaVersion\"") != std::string_view::npos)) {
    if (in_trace.find("\"sampling windows\"") != std::string_view::npos)
      return "it is what occbench trace --timeline wrote; occbench report ROWS.csv --timeline FILE draws it";
    return "it is a trace, as torch.profiler exports it; occbench trace --import FILE makes rows of it";
  }
  if (has_names(text, {"experiment", "case", "quantity", "index", "value"}))
    return "it has the readings behind rows (samples); name the file of rows, FILE.csv of FILE.samples.csv";
  constexpr std::string_view kOfOthers = "<{[\x7f";  // HTML and SVG, JSON, programs
  if (begin != std::string_view::npos && kOfOthers.find(in_trace[begin]) != std::string_view::npos)
    return "it is no table; occbench run, sweep and trace write rows";
  return "";
}

void refuse_other_files(std::string_view text, std::string_view source) {
  const std::string what = what_else_it_is(text);
  if (!what.empty()) throw InputError("{} is no file of rows: {}", source, what);
}

}  // namespace occbench
