#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "cli/device_list.hpp"
#include "cli/text_table.hpp"
#include "cli/tool_program.hpp"
#include "cli/waiting.hpp"
#include "occupancy/input_error.hpp"
#include "predict/device_profile.hpp"
#include "record/replay.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

struct ValidateOptions {
  ToolProgram program{"validation"};
  std::string profile;
  std::string suite = "full";
  std::string out;
  std::string rows;
};

/// Of the rows of one kind.
struct ErrorsOfKind {
  std::string kind;
  std::vector<double> theory;      ///< |theoretical - counter|, points
  std::vector<double> predicted;   ///< |predicted - counter|, points
  std::vector<double> active_pct;  ///< |predicted / measured - 1| of active cycles
  std::vector<double> widths;      ///< of the 90 % intervals, points
  int inside = 0;                  ///< launches whose counter is inside
};

/// What the case was drawn for; of other cases their experiment.
std::string kind_of(const CaseIdentity& identity) {
  const std::string* const kind = find_parameter(identity, "kind");
  return kind == nullptr ? identity.experiment : *kind;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// In the order of their first cases, all of which have theory, a prediction and a counter's value.
std::vector<ErrorsOfKind> errors_by_kind(const std::vector<CaseRecord>& cases) {
  std::vector<ErrorsOfKind> kinds;
  for (const CaseRecord& each : cases) {
    const std::string kind = kind_of(each.identity);
    auto of = std::ranges::find(kinds, kind, &ErrorsOfKind::kind);
    if (of == kinds.end()) of = kinds.insert(of, ErrorsOfKind{kind, {}, {}, {}, {}, 0});
    const CounterValues& counters = each.readings.counters;
    of->theory.push_back(std::abs(each.theory->theoretical_pct - *counters.achieved_pct));
    of->predicted.push_back(std::abs(each.prediction->predicted_pct - *counters.achieved_pct));
    of->widths.push_back(each.prediction->interval.width());
    if (each.prediction->interval.contains(*counters.achieved_pct)) ++of->inside;
    if (counters.sm_cycles_active_avg) {
      of->active_pct.push_back(
          100 * std::abs(each.prediction->cycles_active_mean / *counters.sm_cycles_active_avg - 1));
    }
  }
  return kinds;
}

std::string table_of(const std::vector<ErrorsOfKind>& kinds) {
  std::vector<std::vector<std::string>> lines = {
      {"points from the counter", "launches", "theory, mean", "predicted, mean", "median", "95th percentile",
       "in the 90 % interval", "its width, mean", "active cycles, median"}};
  const auto points = [](double value) { return fmt::format("{:.2f}", value); };
  for (const ErrorsOfKind& each : kinds) {
    std::vector<double> predicted = each.predicted;
    std::ranges::sort(predicted);
    lines.push_back(
        {each.kind, std::to_string(predicted.size()), points(mean(each.theory)), points(mean(predicted)),
         points(median(predicted)), points(quantile_of_sorted(predicted, 0.95)),
         fmt::format("{:.0f} %", 100.0 * each.inside / static_cast<double>(predicted.size())),
         points(mean(each.widths)), each.active_pct.empty() ? "-" : points(median(each.active_pct)) + " %"});
  }
  return text_table(lines, "<>");
}

void require_new_file(const std::string& out) {
  std::error_code unknown;
  if (fs::exists(out, unknown)) {
    throw InputError(
        fmt::format("{} exists: its rows would be mixed with the new ones; name another file", out));
  }
}

/// Measures launches now, predicted with the profile where one is given.
ToolRun measure_launches(const ValidateOptions& options, Console& console) {
  require_new_file(options.out);
  std::vector<std::string> arguments = {"--occ_suite=" + options.suite};
  if (!options.profile.empty()) arguments.push_back("--occ_device_profile=" + options.profile);
  ToolRun run = measure(options.program, options.suite == "full" ? "a minute and a half" : "some 15 s",
                        std::move(arguments), options.out, console);
  std::error_code unknown;
  if (run.status != ExitStatus::done && fs::exists(options.out, unknown))
    fmt::print(console.err, "what was measured is in {}: --rows reads it\n", options.out);
  return run;
}

/// Launches measured before, predicted again where a profile is given.
ToolRun read_launches(const ValidateOptions& options, const std::optional<DeviceProfile>& profile) {
  ToolRun run;
  run.cases = read_case_records(options.rows);
  if (profile) {
    Waiting waiting("predicting launches:", run.cases.size());
    for (CaseRecord& each : run.cases) {
      in_place(each, [&] { repredict(each, profile); });
      waiting.step();
    }
  }
  return run;
}

ExitStatus validate(const ValidateOptions& options, Console& console) {
  std::optional<DeviceProfile> profile;
  if (!options.profile.empty()) profile = find_profile(options.profile);
  ToolRun run = options.rows.empty() ? measure_launches(options, console) : read_launches(options, profile);
  if (run.status != ExitStatus::done) return run.status;
  std::erase_if(run.cases, [](const CaseRecord& each) {
    return !each.theory || !each.prediction || !each.readings.counters.achieved_pct;
  });
  if (run.cases.empty()) {
    throw InputError(fmt::format("{} has no row with a prediction and a counter's value",
                                 options.rows.empty() ? "what was measured" : options.rows));
  }
  const CaseRecord& first = run.cases.front();
  const std::string quality =
      first.profile_quality ? fmt::format(" ({})", to_string(*first.profile_quality)) : "";
  fmt::print(console.out, "{}, predicted with the profile {}{}\n\n{}", first.provenance.gpu,
             first.device_profile, quality, table_of(errors_by_kind(run.cases)));
  return ExitStatus::done;
}

/// On one GPU, or in a process for each, which prints a table.
ExitStatus validate_gpus(ValidateOptions options, const CLI::App& parser, Console& console) {
  const std::vector<GpuHere> gpus = listed_gpus(options.program.device);
  if (gpus.size() > 1) {
    require_new_file(options.out);
    EachDevice each = each_device(parser, gpus, {});
    each.rows = options.out;
    each.at_once = options.program.at_once;
    return run_on_each(each, console);
  }
  if (!gpus.empty()) options.program.device = std::to_string(gpus.front().index);
  return validate(options, console);
}

}  // namespace

Action declare_validate(CLI::App& parser) {
  const auto options = std::make_shared<ValidateOptions>();
  declare_options(parser, options->program);
  parser.add_option(
      "--profile", options->profile,
      "device profile to predict with, a built-in one or a file (default: the best known of the GPU, "
      "and of rows measured before what they were predicted with)");
  parser.add_option("--suite", options->suite, "how many launches: smoke 21, quick 189, full 840")
      ->check(CLI::IsMember({"smoke", "quick", "full"}))
      ->capture_default_str();
  parser.add_option("--out", options->out, "the rows go here (default: they are not kept)")
      ->type_name("FILE.csv");
  parser.add_option("--rows", options->rows, "rows measured before, with no GPU")
      ->check(CLI::ExistingFile)
      ->excludes("--out", "--suite", "--device", "--benches")
      ->type_name("FILE.csv");
  return [options, &parser](Console& console) { return validate_gpus(*options, parser, console); };
}

}  // namespace occbench
