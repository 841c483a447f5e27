#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "cli/recorded.hpp"
#include "cli/row_table.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/observed.hpp"
#include "record/replay.hpp"
#include "schedule/device_profile.hpp"

namespace occbench {
namespace {

struct ExplainOptions {
  std::vector<std::string> files;
  std::string filter;
  std::string profile;
  std::size_t top = 20;
  bool csv = false;
};

std::vector<Row> counted_rows(const ExplainOptions& options) {
  std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (files.empty()) {
    const std::optional<std::filesystem::path> recorded = recorded_suite();
    if (!recorded) throw InputError("no recorded rows were found near this program: name a FILE.csv");
    files.push_back(*recorded);
  }
  const auto matches = case_filter(options.filter);
  std::vector<Row> rows;
  for (const std::filesystem::path& file : files) {
    std::ranges::copy_if(read_rows(file), std::back_inserter(rows), [&](const Row& row) {
      // Launches of a program that were not counted are predicted from their time.
      return row.theoretical_pct && (row.achieved_pct || has_inferred_work(row)) && matches(full_name(row));
    });
  }
  if (rows.empty())
    throw InputError(fmt::format(
        "no row has a counter's value{}",
        options.filter.empty() ? std::string()
                               : fmt::format(" and a name that --filter '{}' is found in", options.filter)));
  return rows;
}

double lost_points(const Row& row) {
  return *row.theoretical_pct - (row.achieved_pct ? row.achieved_pct : row.predicted_pct).value_or(0);
}

void print_row(const Row& row, std::ostream& out) {
  fmt::print(out, "{}\n  theory {:.1f} %", full_name(row), *row.theoretical_pct);
  if (row.predicted_pct) fmt::print(out, ", predicted {:.1f} %", *row.predicted_pct);
  if (row.achieved_pct) fmt::print(out, ", counter {:.1f} %", *row.achieved_pct);
  fmt::print(out, "\n  {}\n",
             row.explanation.empty() ? "No prediction: the row does not say what each block had to do."
                                     : row.explanation);
}

ExitStatus explain(const ExplainOptions& options, Console& console) {
  std::vector<Row> rows = counted_rows(options);
  std::ranges::stable_sort(rows, std::ranges::greater{}, lost_points);
  const std::size_t all = rows.size();
  if (options.top > 0 && options.top < all) rows.resize(options.top);
  std::optional<DeviceProfile> profile;
  if (!options.profile.empty()) profile = find_profile(options.profile);
  for (Row& row : rows) repredict(row, profile);
  if (options.csv) {
    fmt::print(console.out, "{}", csv_header());
    for (const Row& row : rows) fmt::print(console.out, "{}", csv_record(row));
    return ExitStatus::done;
  }
  for (const Row& row : rows) print_row(row, console.out);
  fmt::print(console.err, "{} of {} rows, those first that lost most; re-predicted. {}\n", rows.size(), all,
             agreement(rows));
  return ExitStatus::done;
}

}  // namespace

Action declare_explain(CLI::App& parser) {
  auto options = std::make_shared<ExplainOptions>();
  parser.add_option("FILE", options->files, "recorded rows (default: those that come with the project)")
      ->check(CLI::ExistingFile);
  parser.add_option("--filter", options->filter,
                    "only cases whose experiment/case this regular expression is found in");
  parser.add_option("--profile", options->profile,
                    "device profile to predict with, a built-in one or a file (default: the "
                    "built-in one that a row names, else that of such a GPU)");
  parser.add_option("--top", options->top, "how many rows, 0 = all")->capture_default_str();
  parser.add_flag("--csv", options->csv, "whole rows, with the new prediction, as CSV");
  return [options](Console& console) { return explain(*options, console); };
}

}  // namespace occbench
