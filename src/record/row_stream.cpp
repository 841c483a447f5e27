#include "record/row_stream.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "record/file_kind.hpp"

namespace occbench {
namespace {

/// Whether quotes are open at the end of a line. They open at the start of a cell only.
/// @param inside  whether they are at its start
bool quotes_open(std::string_view line, bool inside) {
  for (std::size_t at = line.find('"'); at != std::string_view::npos; at = line.find('"', at + 1)) {
    if (!inside) {
      inside = at == 0 || line[at - 1] == ',';
    } else if (line.substr(at + 1).starts_with('"')) {
      ++at;
    } else {
      inside = false;
    }
  }
  return inside;
}

}  // namespace

RowStream::RowStream(const std::filesystem::path& file)
    : source_(file.string()), file_(file, std::ios::binary) {
  if (!file_ || std::filesystem::is_directory(file))
    throw InputError(fmt::format("cannot read {}: name a file of rows", source_));
  if (!read_record()) {
    refuse_other_files(record_, source_);
    throw InputError(fmt::format("{} is empty: there is no line of column names", source_));
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (record_.starts_with(kByteOrderMark)) record_.erase(0, kByteOrderMark.size());
  header_ = record_;
  names_ = csv_cells(header_, source_, line_);
}

std::size_t RowStream::column(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    refuse_other_files(header_ + "\n", source_);
    throw InputError(fmt::format("{}, line 1: no column '{}'; this is not a file of rows", source_, name));
  }
  return static_cast<std::size_t>(found - names_.begin());
}

/// A record of one empty cell is a blank line, in quotes too, unless there is one column.
bool RowStream::next() {
  while (read_record()) {
    if (names_.size() == 1 || (!record_.empty() && record_ != "\"\"")) return true;
  }
  return false;
}

std::vector<std::string> RowStream::cells() const {
  std::vector<std::string> cells = csv_cells(record_, source_, line_);
  if (cells.size() != names_.size()) {
    throw InputError(fmt::format("{}, line {}: {} cells where the first line names {} columns", source_,
                                 line_, cells.size(), names_.size()));
  }
  return cells;
}

/// A line end inside quotes belongs to the record.
bool RowStream::read_record() {
  record_.clear();
  line_ = next_line_;
  std::string line;
  bool inside_quotes = false;
  while (std::getline(file_, line)) {
    ++next_line_;
    if (file_.eof()) break;
    inside_quotes = quotes_open(line, inside_quotes);
    record_ += line;
    if (!inside_quotes) {
      if (record_.ends_with('\r')) record_.pop_back();
      return true;
    }
    record_ += '\n';
  }
  if (file_.bad()) throw InputError(fmt::format("cannot read {} beyond line {}", source_, line_));
  record_ += line;
  torn_ = !record_.empty();
  return false;
}

}  // namespace occbench
