#include "gate/run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "files/input.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == std::string_view::npos;
}

/// What the samples hold of one case.
struct CaseSamples {
  std::vector<double> warp_cycles;     ///< active, all SMs; one a reading
  std::vector<double> longest_cycles;  ///< active cycles of the SM with most

  std::vector<double>* of(std::string_view quantity) {
    if (quantity == "sm__warps_active.sum") return &warp_cycles;
    return quantity == "sm__cycles_active.max" ? &longest_cycles : nullptr;
  }
};

/// achieved_elapsed_pct is proportional to warp cycles over the longest SM's.
Real elapsed_spread(const CaseSamples& samples, const Row& row) {
  const std::size_t readings = samples.warp_cycles.size();
  if (!row.achieved_elapsed_pct || readings == 0 || readings != samples.longest_cycles.size()) return {};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < readings; ++i) {
    ratios.push_back(samples.warp_cycles[i] / samples.longest_cycles[i]);
    if (!(ratios.back() > 0 && std::isfinite(ratios.back()))) return {};
  }
  const Quartiles of_ratios = quartiles(ratios);
  const double spread = std::abs(*row.achieved_elapsed_pct) * of_ratios.range() / of_ratios.median;
  return std::isfinite(spread) ? Real(spread) : Real();
}

void add_samples(RecordedRun& run, std::string_view text) {
  std::map<std::pair<std::string, std::string>, CaseSamples> by_name;
  for (const Sample& sample : parse_samples(text, samples_path(run.source).string())) {
    std::vector<double>* values = by_name[{sample.experiment, sample.case_name}].of(sample.quantity);
    if (values != nullptr) values->push_back(sample.value);
  }
  for (RecordedCase& recorded : run.cases) {
    const auto found = by_name.find({recorded.row.experiment, recorded.row.case_});
    if (found == by_name.end()) continue;
    recorded.achieved_elapsed_spread_points = elapsed_spread(found->second, recorded.row);
  }
}

std::string samples_of(const fs::path& file) {
  const fs::path samples = samples_beside(file);
  return samples.empty() ? "" : read_text(samples);
}

bool begins_like_rows(const fs::path& file) {
  const std::string text = read_text(file);
  if (is_blank(text)) return true;
  std::vector<std::string_view> needed = {"schema"};
  for (const Column& column : columns()) {
    if (column.gate == GateRule::key) needed.push_back(column.name);
  }
  return has_names(text, needed);
}

}  // namespace

bool RecordedRun::has_column(std::string_view name) const {
  return std::ranges::find(columns, name) != columns.end();
}

RecordedRun parse_run(std::string_view rows, std::string_view samples, std::string_view source) {
  RecordedRun run{std::string(source), {}, {}, false};
  refuse_other_files(rows, source);
  // Not even a whole first line: the run was stopped before its first case.
  if (is_blank(rows) || rows.find('\n') == std::string_view::npos) {
    run.torn = !is_blank(rows);
    return run;
  }
  const CsvTable table = parse_row_table(rows, source);
  run.torn = table.whole_bytes != rows.size();
  std::vector<Row> parsed = rows_of(table, source);
  for (std::size_t i = 0; i < parsed.size(); ++i) run.cases.push_back({std::move(parsed[i]), table.lines[i]});
  run.columns = parse_csv(rows.substr(0, rows.find('\n') + 1), source).names;
  if (!is_blank(samples)) add_samples(run, samples);
  return run;
}

RecordedRun read_run(const fs::path& file) {
  return parse_run(read_text(file), samples_of(file), file.string());
}

std::string name_of_rows(const fs::path& file) {
  return (file.extension() == ".gz" ? file.stem() : file.filename()).string();
}

std::vector<fs::path> run_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string name = name_of_rows(path);
    const bool of_rows = entry.is_regular_file() && name.ends_with(".csv") && !name.ends_with(".samples.csv");
    if (of_rows && begins_like_rows(path)) files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace occbench
