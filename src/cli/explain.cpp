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
#include "predict/device_profile.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/observed.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

struct ExplainOptions {
  std::vector<std::string> files;
  std::string filter;
  std::string profile;
  std::size_t top = 20;
  bool csv = false;
};

/// Those with theory and a counter's value, or work inferred from their time, that the filter matches.
std::vector<CaseRecord> counted_cases(const ExplainOptions& options) {
  std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (files.empty()) {
    const std::optional<std::filesystem::path> recorded = recorded_suite();
    if (!recorded)
      throw InputError(
          "no recorded rows were found near this program or the current folder: name a FILE.csv");
    files.push_back(*recorded);
  }
  const auto matches = case_filter(options.filter);
  std::vector<CaseRecord> cases;
  for (const std::filesystem::path& file : files) {
    std::ranges::copy_if(read_case_records(file), std::back_inserter(cases), [&](const CaseRecord& each) {
      const bool says_enough =
          each.readings.counters.achieved_pct || is_inferred_work(each.identity.work_source);
      return each.theory && says_enough && matches(full_name(each.identity));
    });
  }
  if (cases.empty())
    throw InputError(fmt::format(
        "no row has a counter's value{}",
        options.filter.empty() ? std::string()
                               : fmt::format(" and a name that --filter '{}' is found in", options.filter)));
  return cases;
}

double lost_points(const CaseRecord& record) {
  const double reached = record.readings.counters.achieved_pct.value_or(
      record.prediction ? record.prediction->predicted_pct : 0);
  return record.theory->theoretical_pct - reached;
}

void print_case(const CaseRecord& record, std::ostream& out) {
  const std::optional<Prediction>& prediction = record.prediction;
  fmt::print(out, "{}\n  theory {:.1f} %", full_name(record.identity), record.theory->theoretical_pct);
  if (prediction) fmt::print(out, ", predicted {:.1f} %", prediction->predicted_pct);
  if (const auto& achieved = record.readings.counters.achieved_pct)
    fmt::print(out, ", counter {:.1f} %", *achieved);
  fmt::print(out, "\n  {}\n",
             prediction ? prediction->explanation
                        : "No prediction: the row does not say what each block had to do.");
}

ExitStatus explain(const ExplainOptions& options, Console& console) {
  std::vector<CaseRecord> cases = counted_cases(options);
  std::ranges::stable_sort(cases, std::ranges::greater{}, lost_points);
  const std::size_t all = cases.size();
  if (options.top > 0 && options.top < all) cases.resize(options.top);
  std::optional<DeviceProfile> profile;
  if (!options.profile.empty()) profile = find_profile(options.profile);
  for (CaseRecord& each : cases) repredict(each, profile);
  if (options.csv) {
    fmt::print(console.out, "{}", csv_header());
    for (const CaseRecord& each : cases) fmt::print(console.out, "{}", csv_record(row_of(each)));
    return ExitStatus::done;
  }
  for (const CaseRecord& each : cases) print_case(each, console.out);
  fmt::print(console.err, "{} of {} rows, those first that lost most; re-predicted. {}\n", cases.size(), all,
             agreement(cases));
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
