#include "record/row_stream.hpp"

#include <algorithm>
#include <limits>

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

/// Without its end.
std::string csv_line(std::span<const std::string> cells) {
  std::string line = csv_record(cells);
  line.pop_back();
  return line;
}

}  // namespace

RowStream::RowStream(const std::filesystem::path& file)
    : source_(file.string()), file_(file, std::numeric_limits<std::int64_t>::max()) {
  if (!read_record()) {
    refuse_other_files(record_, source_);
    throw InputError(fmt::format("{} is empty: there is no line of column names", source_));
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (record_.starts_with(kByteOrderMark)) record_.erase(0, kByteOrderMark.size());
  header_ = record_;
  conversion_.emplace(csv_cells(header_, source_, line_));
  if (conversion_->needed()) header_ = csv_line(conversion_->names());
}

std::size_t RowStream::column(std::string_view name) const {
  const auto found = std::ranges::find(names(), name);
  if (found == names().end()) {
    refuse_other_files(header_ + "\n", source_);
    throw InputError(fmt::format("{}, line 1: no column '{}'; this is not a file of rows", source_, name));
  }
  return static_cast<std::size_t>(found - names().begin());
}

/// A record of one empty cell is a blank line, in quotes too, unless there is one column.
bool RowStream::next() {
  while (read_record()) {
    if (names().size() != 1 && (record_.empty() || record_ == "\"\"")) continue;
    cells_ = csv_cells(record_, source_, line_);
    if (cells_.size() != conversion_->old_names().size())
      throw InputError(fmt::format("{}, line {}: {} cells where the first line names {} columns", source_,
                                   line_, cells_.size(), conversion_->old_names().size()));
    try {
      cells_ = conversion_->cells(cells_);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, line {}: {}", source_, line_, error.what()));
    }
    if (conversion_->needed()) record_ = csv_line(cells_);
    return true;
  }
  return false;
}

/// Up to its end, which is taken from the file. @returns whether it has one
bool RowStream::read_line(std::string& line) {
  line.clear();
  for (auto letter = file_.sbumpc(); letter != InputBuffer::traits_type::eof(); letter = file_.sbumpc()) {
    if (letter == '\n') return true;
    line.push_back(static_cast<char>(letter));
    if (record_.size() + line.size() > kMaxRecordBytes) {
      throw InputError(fmt::format("{}, line {}: a row of more than {} bytes; this is not a file of rows",
                                   source_, line_, kMaxRecordBytes));
    }
  }
  return false;
}

/// A line end inside quotes belongs to the record.
bool RowStream::read_record() {
  record_.clear();
  line_ = next_line_;
  std::string line;
  bool inside_quotes = false;
  while (read_line(line)) {
    ++next_line_;
    inside_quotes = quotes_open(line, inside_quotes);
    record_ += line;
    if (!inside_quotes) {
      if (record_.ends_with('\r')) record_.pop_back();
      return true;
    }
    record_ += '\n';
  }
  record_ += line;
  torn_ = !record_.empty();
  return false;
}

}  // namespace occbench
