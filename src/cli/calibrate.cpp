#include "record/calibrate.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "cli/gpu_option.hpp"
#include "files/output.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/run.hpp"
#include "orchestrate/waiting.hpp"
#include "predict/device_profile.hpp"
#include "predict/parallel.hpp"
#include "predict/profile_choice.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// A bench binary whose launches are not part of a suite, and the user's options for it.
struct ToolProgram {
  std::string name;
  std::string device = "auto";
  fs::path benches = {};  ///< its folder; empty: that of this program
};

struct CalibrateOptions {
  ToolProgram program{"calibration"};
  std::string name;
  std::string out;  ///< empty: kept where predictions of the GPU find it
  std::vector<std::string> rows;
};

/// `--device` and `--benches`.
void declare_options(CLI::App& parser, ToolProgram& program) {
  add_one_device_option(parser, program.device)->capture_default_str()->type_name("N|auto");
  add_value(parser, "--benches", "FOLDER", program.benches,
            "folder of the bench binaries (default: beside occbench)");
}

/// As run_tool().
/// @param takes      how long, for the user: "some 20 s"
/// @param arguments  further ones
/// @param rows       the rows go here; empty: they are not kept
/// @returns its status: no_verdict if there is no GPU or it was interrupted; its measurements only if it is done
ToolRun measure(const ToolProgram& program, const std::string& takes, std::vector<std::string> arguments,
                const fs::path& rows, Console& console) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) {
    fmt::print(console.err, "nothing is measured: {}\n", reason);
    return {ExitStatus::no_verdict, {}, {}};
  }
  fmt::print(console.err, "measuring, {} ...\n", takes);
  arguments.insert(arguments.begin(), {"--occ_counters=require", "--occ_device=" + program.device});
  return run_tool(programs_folder(program.benches) / program.name, std::move(arguments), rows, console);
}

/// Rows measured before.
ToolRun read_runs(const std::vector<std::string>& files) {
  ToolRun run;
  for (const std::string& file : files)
    std::ranges::move(read_case_records(file), std::back_inserter(run.cases));
  const fs::path samples = samples_beside(files.front());
  run.samples = read_samples(samples.empty() ? samples_path(files.front()) : samples);
  return run;
}

ExitStatus calibrate_rows(const CalibrateOptions& options, Console& console) {
  if (!options.out.empty() && options.out != "-") {
    require_not_input(options.out, std::vector<fs::path>(options.rows.begin(), options.rows.end()));
    require_not_another_kind(options.out, "name = ");
  }
  const ToolRun run = read_runs(options.rows);
  const Waiting waiting("fitting the profile");
  const DeviceProfile profile = calibrate(run.cases, run.samples, options.name);
  keep_profile(profile, options.out.empty() ? "-" : options.out, console);
  return ExitStatus::done;
}

ExitStatus calibrate_now(const CalibrateOptions& options, Console& console) {
  if (options.out.empty() && user_profiles().empty()) {
    throw InputError(
        "neither XDG_CONFIG_HOME nor HOME names a folder to keep the profile in: name a file with --out");
  }
  const ToolRun run = measure(options.program, "less than 20 s", {"--occ_suite=smoke"}, {}, console);
  if (run.status != ExitStatus::done) return run.status;
  const DeviceProfile profile = calibrate(run.cases, run.samples, options.name);
  const fs::path file = keep_profile(profile, options.out, console);
  fmt::print(console.err, "the profile {} of {} ({}): {}{}\n", profile.name, profile.gpu, profile.gpu_uuid,
             file.string(), options.out.empty() ? "; run, predict and explain find it by the UUID" : "");
  return ExitStatus::done;
}

struct ValidateOptions {
  ToolProgram program{"validation"};
  std::string profile;
  std::string suite = "full";
  std::string out;
  std::string rows;
};

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

/// Measures launches now, predicted with the profile if one is given.
ToolRun measure_launches(const ValidateOptions& options, Console& console) {
  std::error_code unknown;
  if (fs::exists(options.out, unknown)) {
    throw InputError("{} exists: its rows would be mixed with the new ones; name another file", options.out);
  }
  std::vector<std::string> arguments = {"--occ_suite=" + options.suite};
  if (!options.profile.empty()) arguments.push_back("--occ_device_profile=" + options.profile);
  ToolRun run = measure(options.program, options.suite == "full" ? "a minute and a half" : "some 15 s",
                        std::move(arguments), options.out, console);
  if (run.status != ExitStatus::done && fs::exists(options.out, unknown))
    fmt::print(console.err, "what was measured is in {}: --rows reads it\n", options.out);
  return run;
}

/// Launches measured before, predicted again if a profile is given.
ToolRun read_launches(const ValidateOptions& options, const std::optional<DeviceProfile>& profile) {
  ToolRun run;
  run.cases = read_case_records(options.rows);
  if (profile) {
    Waiting waiting("predicting launches:", run.cases.size());
    for_each_parallel(run.cases.size(), [&](std::size_t i) {
      in_place(run.cases[i], [&] { repredict(run.cases[i], profile); });
      waiting.step();
    });
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
    throw InputError("{} has no row with a prediction and a counter's value",
                     options.rows.empty() ? "what was measured" : options.rows);
  }
  const CaseRecord& first = run.cases.front();
  const std::string quality =
      first.profile_quality ? fmt::format(" ({})", to_string(*first.profile_quality)) : "";
  fmt::print(console.out, "{}, predicted with the profile {}{}\n\n{}", first.provenance.gpu,
             first.device_profile, quality, table_of(errors_by_kind(run.cases)));
  return ExitStatus::done;
}

}  // namespace

fs::path keep_profile(const DeviceProfile& profile, const fs::path& out, Console& console) {
  const fs::path file = out.empty() ? profile_file(user_profiles(), profile.gpu_uuid) : out;
  if (file == "-") {
    fmt::print(console.out, "{}", to_string(profile));
    return file;
  }
  try {
    make_folder_of(file);
    replace_text(file, to_string(profile));
  } catch (const InputError&) {
    keep_profile(profile, "-", console);
    throw;
  }
  return file;
}

Action declare_calibrate(CLI::App& parser) {
  const auto options = std::make_shared<CalibrateOptions>();
  declare_options(parser, options->program);
  parser.add_option("--name", options->name,
                    "name of the profile, which rows then carry (default: the GPU's model and the first "
                    "digits of its UUID, h200-91faaf4a)");
  add_value(
      parser, "--out", "FILE", options->out,
      "the profile goes here (default: into the user's configuration folder, as UUID.profile, where run, "
      "predict and explain find it; with --rows: standard output, -)");
  add_value(parser, "--rows", "FILE.csv", options->rows,
            "fit rows measured before (by `calibration --occ_suite=smoke --occ_csv=FILE`), with no "
            "GPU; of several units of one kind: a profile of that kind; all files that follow, up to "
            "the next option or --");
  return [options](Console& console) {
    return options->rows.empty() ? calibrate_now(*options, console) : calibrate_rows(*options, console);
  };
}

Action declare_validate(CLI::App& parser) {
  const auto options = std::make_shared<ValidateOptions>();
  declare_options(parser, options->program);
  parser.add_option("--profile", options->profile,
                    "device profile to predict with, a built-in one or a file (default: the best known of "
                    "the GPU, and of rows measured before what they were predicted with)");
  parser.add_option("--suite", options->suite, "how many launches: smoke 21, quick 189, full 840")
      ->check(CLI::IsMember({"smoke", "quick", "full"}))
      ->capture_default_str();
  add_value(parser, "--out", "FILE.csv", options->out, "the rows go here (default: they are not kept)");
  parser.add_option("--rows", options->rows, "rows measured before, with no GPU")
      ->check(CLI::ExistingFile)
      ->excludes("--out", "--suite", "--device", "--benches")
      ->type_name("FILE.csv");
  return [options](Console& console) { return validate(*options, console); };
}

}  // namespace occbench
