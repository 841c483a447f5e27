#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/chrono.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

std::string text_or_nothing(const fs::path& file) {
  return fs::exists(output_target(file)) ? read_text(file) : "";
}

/// The rows that a stopped run finished, as they stand in its file: all but a torn last line.
std::string finished_rows(const std::string& text, const fs::path& file, const std::string& header) {
  if (header.starts_with(text)) return header;
  const CsvTable table = parse_csv(text, file.string(), LastLine::torn);
  if (!text.starts_with(header)) {
    throw InputError(
        "cannot resume {}: its columns are not those of this build and command; write to another file",
        file.string());
  }
  return text.substr(0, table.whole_bytes);
}

/// Samples are written before their row, so samples without a row belong to a case that did not end.
std::string finished_samples(const std::string& text, const fs::path& file, const std::vector<Row>& rows) {
  std::set<std::pair<std::string_view, std::string_view>> finished;
  for (const Row& row : rows) finished.emplace(row.experiment, row.case_);
  std::string kept = samples_header();
  if (kept.starts_with(text)) return kept;
  if (!text.starts_with(kept)) {
    throw InputError("cannot resume {}: it has no samples of this build; write to another file",
                     file.string());
  }
  for (const Sample& sample : parse_samples(text, file.string())) {
    if (finished.contains({sample.experiment, sample.case_name})) kept += csv_record(sample);
  }
  return kept;
}

/// Writes `text` to the file unless it already has it.
AppendFile with_text(const fs::path& file, const std::string& text, const std::string& before) {
  if (text != before || !fs::exists(file)) replace_text(file, text);
  return AppendFile(file);
}

AppendFile open_rows(const fs::path& file, RunFile::Mode mode, const std::vector<std::string>& extra,
                     std::vector<Row>& finished) {
  const std::string header = csv_header(extra);
  const std::string before = mode == RunFile::Mode::resume ? text_or_nothing(file) : "";
  const std::string text = finished_rows(before, file, header);
  finished = parse_rows(text, file.string());
  return with_text(file, text, before);
}

AppendFile open_samples(const fs::path& file, RunFile::Mode mode, const std::vector<Row>& finished) {
  const std::string before = mode == RunFile::Mode::resume ? text_or_nothing(file) : "";
  return with_text(file, finished_samples(before, file, finished), before);
}

/// Named by the time of its last change, with a number added if that name is taken.
fs::path name_aside(const fs::path& file) {
  const auto changed = std::chrono::file_clock::to_sys(fs::last_write_time(file));
  const std::string name =
      fmt::format("{}.{:%Y%m%dT%H%M%SZ}", file.string(),
                  fmt::gmtime(std::chrono::system_clock::to_time_t(
                      std::chrono::time_point_cast<std::chrono::system_clock::duration>(changed))));
  fs::path free = name;
  for (int number = 2; fs::exists(free); ++number) free = fmt::format("{}.{}", name, number);
  return free;
}

}  // namespace

/// If the file is reached by a link, the link then leads to an empty one. A compressed file is never written, so its
/// link itself is renamed.
fs::path renamed_aside(const fs::path& name) {
  const fs::path file = name.extension() == ".gz" ? name : fs::canonical(name);
  fs::path kept = name_aside(file);
  std::error_code error;
  fs::rename(file, kept, error);
  if (error)
    throw InputError("{} is there already and cannot be renamed {}: {}; write to another file", file.string(),
                     kept.string(), error.message());
  if (fs::is_symlink(name)) replace_text(file, "");
  return kept;
}

fs::path linked_aside(const fs::path& name) {
  const fs::path file = fs::canonical(name);
  fs::path kept = name_aside(file);
  std::error_code error;
  fs::create_hard_link(file, kept, error);
  if (error) fs::copy_file(file, kept, error);
  if (error)
    throw InputError("{} is there already and cannot be kept as {}: {}; write to another file", file.string(),
                     kept.string(), error.message());
  return kept;
}

std::vector<SetAside> set_aside(const fs::path& rows_file) {
  std::vector<SetAside> kept;
  std::vector<fs::path> files = samples_forms(rows_file);
  files.insert(files.begin(), rows_file);
  for (const fs::path& file : files) {
    std::error_code missing;
    if (!fs::is_regular_file(file, missing)) continue;
    std::ifstream stream(file, std::ios::binary);
    std::string line;
    std::getline(stream, line);
    // A run begins with the names of columns, and metrics behind them.
    const std::string begin = file == rows_file ? csv_header() : samples_header();
    const bool is_begun = line.empty() || line.starts_with(begin.substr(0, begin.size() - 1));
    const bool has_more = stream.peek() != std::ifstream::traits_type::eof();
    if (has_more || !is_begun) kept.push_back({file, renamed_aside(file)});
  }
  return kept;
}

RunFile::RunFile(const fs::path& rows_file, Mode mode, std::vector<std::string> extra)
    : file_(rows_file),
      lock_(rows_file),
      extra_(std::move(extra)),
      rows_(open_rows(rows_file, mode, extra_, finished_)),
      samples_(open_samples(samples_path(rows_file), mode, finished_)) {}

void RunFile::require_same_origin(const Row& next) const {
  const auto refuse = [&](std::string_view what, const std::string& there, const std::string& here) {
    throw InputError("cannot resume {}: it has rows of {} {}, and this is {}; write to another file",
                     file_.string(), what, there, here);
  };
  for (const Row& row : finished_) {
    if (row.gpu_uuid != next.gpu_uuid) refuse("the GPU", row.gpu_uuid, next.gpu_uuid);
    if (row.experiment == next.experiment && row.commit != next.commit) {
      refuse(fmt::format("{} of commit", row.experiment), row.commit, next.commit);
    }
  }
}

void RunFile::append_all(std::span<const Row> rows, std::span<const Sample> samples) {
  std::string rows_text;
  for (const Row& row : rows) {
    Row ordered = row;
    ordered.extra.clear();
    for (const std::string& name : extra_) ordered.extra.emplace_back(name, "");
    for (const auto& [name, value] : row.extra) {
      const auto slot = std::ranges::find(ordered.extra, name, &std::pair<std::string, std::string>::first);
      if (slot == ordered.extra.end()) throw std::invalid_argument("the file has no column '" + name + "'");
      slot->second = value;
    }
    rows_text += csv_record(ordered);
  }
  std::string text;
  for (const Sample& sample : samples) text += csv_record(sample);
  if (!text.empty()) samples_.append(text);
  rows_.append(rows_text);
}

}  // namespace occbench
