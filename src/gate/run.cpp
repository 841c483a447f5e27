#include "gate/run.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == std::string_view::npos;
}

void add_times(RecordedRun& run, std::string_view text) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<RecordedCase*>> by_name;
  for (RecordedCase& recorded : run.cases) {
    by_name[{recorded.row.experiment, recorded.row.case_}].push_back(&recorded);
  }
  for (const Sample& sample : parse_samples(text, samples_path(run.source).string())) {
    if (sample.quantity != "time_us") continue;
    const auto found = by_name.find({sample.experiment, sample.case_name});
    if (found == by_name.end()) continue;
    for (RecordedCase* recorded : found->second) recorded->times_us.push_back(sample.value);
  }
}

bool begins_like_rows(const fs::path& file) {
  const std::string text = read_text(file);
  if (is_blank(text)) return true;
  const std::string_view first_line = std::string_view(text).substr(0, text.find_first_of("\r\n"));
  const std::string names = fmt::format(",{},", first_line);
  return std::ranges::all_of(columns(), [&](const Column& column) {
    const bool needed = column.gate == GateRule::key || column.gate == GateRule::machine;
    return !needed || names.find(fmt::format(",{},", column.name)) != std::string::npos;
  });
}

}  // namespace

bool RecordedRun::has_column(std::string_view name) const {
  return std::ranges::find(columns, name) != columns.end();
}

RecordedRun parse_run(std::string_view rows, std::string_view samples, std::string_view source) {
  RecordedRun run{std::string(source), {}, {}, false};
  // Not even a whole first line: the run was stopped before its first case.
  if (is_blank(rows) || rows.find('\n') == std::string_view::npos) {
    run.torn = !is_blank(rows);
    return run;
  }
  CsvTable table = parse_csv(rows, source, LastLine::torn);
  run.torn = table.whole_bytes != rows.size();
  std::vector<Row> parsed = rows_of(table, source);
  for (std::size_t i = 0; i < parsed.size(); ++i)
    run.cases.push_back({std::move(parsed[i]), {}, table.lines[i]});
  run.columns = std::move(table.names);
  if (!is_blank(samples)) add_times(run, samples);
  return run;
}

RecordedRun read_run(const fs::path& file) {
  const fs::path samples = samples_path(file);
  return parse_run(read_text(file), fs::exists(samples) ? read_text(samples) : "", file.string());
}

std::vector<fs::path> run_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const bool of_rows = entry.is_regular_file() && path.extension() == ".csv" &&
                         !path.filename().string().ends_with(".samples.csv");
    if (of_rows && begins_like_rows(path)) files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace occbench
