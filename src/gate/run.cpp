#include "gate/run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/statistics.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == std::string_view::npos;
}

/// The samples of one case.
struct CaseSamples {
  std::vector<double> warp_cycles;     ///< active, all SMs; one per reading
  std::vector<double> longest_cycles;  ///< active cycles of the SM with most
  std::vector<double> times_us;

  std::vector<double>* of(std::string_view quantity) {
    if (quantity == "sm__warps_active.sum") return &warp_cycles;
    if (quantity == "time_us") return &times_us;
    return quantity == "sm__cycles_active.max" ? &longest_cycles : nullptr;
  }

  /// Per reading, warp cycles over the longest SM's cycles, to which achieved_elapsed_pct is proportional. Empty if
  /// one is missing.
  std::vector<double> ratios() const {
    std::vector<double> found;
    if (warp_cycles.size() != longest_cycles.size()) return found;
    for (std::size_t i = 0; i < warp_cycles.size(); ++i) {
      found.push_back(warp_cycles[i] / longest_cycles[i]);
      if (!(found.back() > 0 && std::isfinite(found.back()))) return {};
    }
    return found;
  }
};

/// Rows have four decimals.
constexpr double kMostPointsApart = 0.001;
/// A race uses only part of the times.
constexpr double kMostOfTimeApart = 0.1;

/// Warps that all SMs can hold.
Real warp_slots(const Row& row) {
  if (!row.sm_count || row.compute_capability.empty()) return {};
  try {
    const Limits* const limits = find_limits(parse_compute_capability(row.compute_capability));
    return limits == nullptr ? Real() : Real(limits->max_warps_per_sm * static_cast<double>(*row.sm_count));
  } catch (const InputError&) {
    return {};
  }
}

/// Whether a row whose occupancy is read from the samples can come from them.
bool fits(const CaseSamples& samples, const Row& row) {
  if (!row.achieved_elapsed_pct) return true;
  const std::vector<double> ratios = samples.ratios();
  if (const Real slots = warp_slots(row); slots && !ratios.empty()) {
    const double elapsed = 100 * median(ratios) / *slots;
    if (std::abs(elapsed - *row.achieved_elapsed_pct) > kMostPointsApart) return false;
  }
  if (samples.times_us.empty() || !row.time_us) return true;
  return std::abs(median(samples.times_us) - *row.time_us) <= kMostOfTimeApart * *row.time_us;
}

Real elapsed_spread(const CaseSamples& samples, const Row& row) {
  const std::vector<double> ratios = samples.ratios();
  if (!row.achieved_elapsed_pct || ratios.empty()) return {};
  const Quartiles of_ratios = quartiles(ratios);
  const double spread = std::abs(*row.achieved_elapsed_pct) * of_ratios.range() / of_ratios.median;
  return std::isfinite(spread) ? Real(spread) : Real();
}

void add_samples(RecordedRun& run, std::string_view text) {
  const std::string source = samples_path(run.source).string();
  run.torn_samples = !text.ends_with('\n');
  if (run.torn_samples) {
    run.stray_samples = source;
    return;
  }
  std::map<std::pair<std::string, std::string>, CaseSamples> by_name;
  for (const Sample& sample : parse_samples(text, source)) {
    std::vector<double>* values = by_name[{sample.experiment, sample.case_name}].of(sample.quantity);
    if (values != nullptr) values->push_back(sample.value);
  }
  if (by_name.empty()) return;
  const auto samples_of_case = [&](const RecordedCase& recorded) -> const CaseSamples* {
    const auto found = by_name.find({recorded.row.experiment, recorded.row.case_});
    return found == by_name.end() ? nullptr : &found->second;
  };
  const auto fit = [&](const RecordedCase& recorded) {
    const CaseSamples* const samples = samples_of_case(recorded);
    return samples == nullptr || fits(*samples, recorded.row);
  };
  run.has_samples = std::ranges::any_of(run.cases, samples_of_case) && std::ranges::all_of(run.cases, fit);
  if (!run.has_samples) {
    run.stray_samples = source;
    return;
  }
  for (RecordedCase& recorded : run.cases) {
    if (const CaseSamples* const samples = samples_of_case(recorded))
      recorded.achieved_elapsed_spread_points = elapsed_spread(*samples, recorded.row);
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

/// With or without gzip.
bool is_named_like_rows(const fs::path& file) {
  const std::string name = (file.extension() == ".gz" ? file.stem() : file.filename()).string();
  return name.ends_with(".csv") && !name.ends_with(".samples.csv");
}

}  // namespace

bool RecordedRun::has_column(std::string_view name) const {
  return std::ranges::find(columns, name) != columns.end();
}

RecordedRun parse_run(std::string_view rows, std::string_view samples, std::string_view source) {
  RecordedRun run{.source = std::string(source)};
  refuse_other_files(rows, source);
  // Without a complete first line the run was stopped before its first case.
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
  RecordedRun run = parse_run(read_text(file), samples_of(file), file.string());
  if (!run.stray_samples.empty()) run.stray_samples = samples_beside(file).string();
  return run;
}

FolderOfRuns runs_in(const fs::path& folder) {
  FolderOfRuns found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() || !is_named_like_rows(entry.path())) continue;
    const bool of_rows = entry.is_regular_file() && begins_like_rows(entry.path());
    (of_rows ? found.files : found.others).push_back(entry.path());
  }
  std::ranges::sort(found.files);
  std::ranges::sort(found.others);
  return found;
}

}  // namespace occbench
