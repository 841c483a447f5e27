#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/explain_numbers.hpp"
#include "cli/findings_text.hpp"
#include "cli/options.hpp"
#include "cli/program_table.hpp"
#include "cli/recorded.hpp"
#include "cli/text_table.hpp"
#include "cli/waiting.hpp"
#include "diagnose/diagnose.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "orchestrate/progress.hpp"
#include "predict/device_profile.hpp"
#include "programs/program_report.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/replay.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

struct ExplainOptions {
  std::vector<std::string> files;
  NumbersOption numbers;
  std::string filter;
  std::string profile;
  std::size_t top = 20;
  bool repredict = false;
  std::string format = "table";

  bool predicts() const {
    return repredict || !profile.empty();
  }
};

std::vector<CaseRecord> all_cases(const ExplainOptions& options) {
  std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (files.empty()) {
    const std::optional<std::filesystem::path> recorded = recorded_suite();
    if (!recorded)
      throw InputError(
          "no recorded rows were found near this program or the current folder: name a FILE.csv");
    files.push_back(*recorded);
    // Experiments that came after the suite was recorded.
    std::error_code error;
    if (const auto added = recorded->parent_path() / "added.csv"; std::filesystem::exists(added, error))
      files.push_back(added);
  }
  std::vector<CaseRecord> cases;
  SimulatedOrMeasured kind;
  for (const std::filesystem::path& file : files) {
    for (CaseRecord& each : read_case_records(file)) {
      kind.add(each.times.status ? to_string(*each.times.status) : "", file.string());
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

/// Those with theory and a counter's value, or work inferred from their time, that the filter matches.
std::vector<CaseRecord> counted_cases(std::span<const CaseRecord> all, const ExplainOptions& options) {
  const auto matches = case_filter(options.filter);
  std::vector<CaseRecord> cases;
  std::ranges::copy_if(all, std::back_inserter(cases), [&](const CaseRecord& each) {
    const bool says_enough =
        each.readings.counters.achieved_pct || is_inferred_work(each.identity.work_source);
    return each.theory && says_enough && matches(full_name(each.identity));
  });
  if (cases.empty())
    throw InputError(
        options.filter.empty()
            ? "no row has a counter's value; a launch is explained without one by its numbers: --cc or "
              "--gpu, "
              "--block-size, --grid, --registers, --achieved"
            : fmt::format("no row has a counter's value and a name that --filter '{}' is found in",
                          options.filter));
  return cases;
}

double lost_points(const CaseRecord& record) {
  const double reached = record.readings.counters.achieved_pct.value_or(
      record.prediction ? record.prediction->predicted_pct : 0);
  return record.theory->theoretical_pct - reached;
}

/// Kernels of a program by the time that advice could save, since a launch may be one of thousands; cases of a suite
/// by points.
/// @returns what they are sorted by
std::string_view sort_by_loss(std::vector<CaseRecord>& cases) {
  const bool of_programs = std::ranges::all_of(
      cases, [](const CaseRecord& each) { return each.program.total_time_us.has_value(); });
  if (!of_programs) {
    std::ranges::stable_sort(cases, std::ranges::greater{}, lost_points);
    return "that lost most";
  }
  sort_by_time_saved(cases);
  return "that can save most time";
}

/// A case with what is said of it.
struct Explained {
  CaseRecord record;
  std::vector<Finding> findings;
};

/// @param all  of the files, among which there may be another build of its kernel
Explained explained(CaseRecord record, std::span<const CaseRecord> all) {
  LaunchFacts facts = facts_of(record);
  facts.faster = faster_build_of(record, all);
  std::vector<Finding> findings = in_place(record, [&] { return diagnose(facts); });
  // The device's own limits, which the table lacks, made the recorded one.
  if (facts.limits != nullptr) record.explanation = explanation_of(facts, findings);
  return {std::move(record), std::move(findings)};
}

/// Of a row that nothing can be said of.
std::string why_there_is_none(const CaseRecord& record) {
  const auto& capability = record.provenance.compute_capability;
  if (!capability) return "no explanation: compute_capability is empty";
  if (find_limits(*capability) == nullptr) {
    return fmt::format(
        "no explanation: compute capability {} is not in the table of limits; a newer occbench may have it",
        to_string(*capability));
  }
  if (!record.launch) return "no explanation: block_threads is empty";
  if (!record.compiled) return "no explanation: registers_per_thread is empty";
  return "no explanation: no block of the launch fits an SM";
}

void print_case(const Explained& each, std::ostream& out) {
  const CaseRecord& record = each.record;
  fmt::print(out, "{}\n  theory {:.1f} %", full_name(record.identity), record.theory->theoretical_pct);
  if (record.prediction) fmt::print(out, ", {}", prediction_text(record));
  if (const auto& achieved = record.readings.counters.achieved_pct)
    fmt::print(out, ", counter {:.1f} %", *achieved);
  if (const auto& total_us = record.program.total_time_us)
    fmt::print(out, "; {} ms in {} launches", milliseconds(*total_us), record.program.launches.value_or(0));
  fmt::print(out, "\n");
  if (each.findings.empty()) {
    fmt::print(out, "  {}\n", record.explanation.empty() ? why_there_is_none(record) : record.explanation);
  }
  const Real& achieved = record.readings.counters.achieved_pct;
  print_findings(each.findings, record.theory->theoretical_pct,
                 achieved || !record.prediction ? achieved : Real(record.prediction->predicted_pct), out);
}

void print_csv(const Explained& each, std::ostream& out) {
  fmt::print(out, "{}", csv_record(row_of(each.record)));
}

/// One object of the array, without what separates it from others.
void print_json(const Explained& each, std::ostream& out) {
  nlohmann::ordered_json object = row_to_json(row_of(each.record));
  object["findings"] = findings_json(each.findings);
  fmt::print(out, "{}", json_text(object, -1));
}

/// What comes before, between and after the rows of a format, and a row.
struct RowFormat {
  std::string before;
  std::string between;
  std::string after;
  void (*print)(const Explained&, std::ostream&);
};

RowFormat row_format(const std::string& name) {
  if (name == "csv") return {csv_header(), "", "", print_csv};
  if (name == "json") return {"[\n", ",\n", "\n]\n", print_json};
  return {"", "", "", print_case};
}

/// A line a row, in the order of the files, as they were recorded.
void print_lines(std::span<const CaseRecord> cases, std::ostream& out) {
  const auto cell = [](const std::optional<double>& value, int decimals) {
    return value ? fmt::format("{:.{}f}", *value, decimals) : "";
  };
  std::vector<std::vector<std::string>> lines = {
      {"case", "theory", "predicted", "counter", "time, us", "issue, %", "eligible", "GPU"}};
  for (const CaseRecord& each : cases) {
    const auto& counters = each.readings.counters;
    const std::optional<double> predicted =
        each.prediction ? std::optional(each.prediction->predicted_pct) : std::nullopt;
    lines.push_back({full_name(each.identity), cell(each.theory->theoretical_pct, 1), cell(predicted, 1),
                     cell(counters.achieved_pct, 1), cell(each.times.time_us, 1),
                     cell(counters.issue_active_pct, 1), cell(counters.eligible_warps, 2),
                     each.provenance.gpu});
  }
  fmt::print(out, "{}", text_table(lines, "<>>>>>><"));
}

ExitStatus explain_rows(const ExplainOptions& options, Console& console) {
  const std::vector<CaseRecord> of_files = all_cases(options);
  std::vector<CaseRecord> cases = counted_cases(of_files, options);
  const auto is_simulated = [](const CaseRecord& each) { return each.times.status == TimeStatus::simulated; };
  if (std::ranges::any_of(cases, is_simulated)) {
    const bool for_reading = options.format == "table" || options.format == "lines";
    fmt::print(for_reading ? console.out : console.err, "{}\n", kSimulatedLine);
  }
  if (options.format == "lines") {
    const std::size_t shown = options.top > 0 ? std::min(options.top, cases.size()) : cases.size();
    print_lines({cases.data(), shown}, console.out);
    fmt::print(console.err, "{} of {} rows.\n", shown, cases.size());
    return ExitStatus::done;
  }
  const std::string_view sorted_by = sort_by_loss(cases);
  const std::size_t all = cases.size();
  std::string agreement_of_all = agreement(cases);
  if (options.top > 0 && options.top < all) cases.resize(options.top);
  std::optional<DeviceProfile> profile;
  if (!options.profile.empty()) profile = find_profile(options.profile);
  Waiting waiting("predicting rows:", cases.size());
  for (CaseRecord& each : cases) {
    waiting.step();
    const bool predictable = each.provenance.compute_capability &&
                             find_limits(*each.provenance.compute_capability) && each.identity.work;
    if (options.predicts() || (!each.prediction && predictable))
      in_place(each, [&] { repredict(each, profile); });
  }
  if (options.predicts()) agreement_of_all = agreement(cases);
  for (const std::string& remark : remarks_on_profiles(cases)) fmt::print(console.err, "{}\n", remark);
  const RowFormat format = row_format(options.format);
  // A row that cannot be explained leaves no half of an array.
  std::ostringstream text;
  text << format.before;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i > 0) text << format.between;
    format.print(explained(cases[i], of_files), text);
  }
  fmt::print(console.out, "{}{}", text.str(), format.after);
  fmt::print(console.err, "{} of {} rows, those first {}{}. {}\n", cases.size(), all, sorted_by,
             options.predicts() ? "; re-predicted" : "", agreement_of_all);
  return ExitStatus::done;
}

ExitStatus explain(const ExplainOptions& options, Console& console) {
  if (!options.numbers.given()) return explain_rows(options, console);
  if (!options.files.empty())
    throw InputError(
        "--cc describes a launch by numbers, and a FILE has launches of its own: give one of them");
  if (options.format == "csv" || options.format == "lines") {
    throw InputError(
        fmt::format("--format {} is for rows; a launch by numbers has table or json", options.format));
  }
  explain_numbers(options.numbers, options.format == "json", console.out);
  return ExitStatus::done;
}

}  // namespace

Action declare_explain(CLI::App& parser) {
  auto options = std::make_shared<ExplainOptions>();
  parser.add_option("FILE", options->files, "recorded rows (default: those that come with the project)")
      ->check(CLI::ExistingFile);
  parser.add_option("--filter", options->filter,
                    "only cases whose experiment/case this regular expression is found in");
  parser.add_flag(
      "--repredict", options->repredict,
      "predict the rows again, with the profile that a row names, beside the rows or built in, else the best "
      "known of its GPU");
  parser.add_option("--profile", options->profile,
                    "predict them again with this device profile, a built-in one or a file");
  add_number(parser, "--top", options->top,
             fmt::format("how many rows, 0 = all (default: {})", options->top));
  parser
      .add_option(
          "--format", options->format,
          "table, lines (a line a row, nothing explained), json (a list, an object a row: its columns "
          "and findings) or csv (whole rows)")
      ->check(CLI::IsMember({"table", "lines", "json", "csv"}));
  parser.add_flag_callback(
      "--csv", [options] { options->format = "csv"; }, "the same as --format csv");
  declare_numbers_option(parser, options->numbers);
  return [options](Console& console) { return explain(*options, console); };
}

}  // namespace occbench
