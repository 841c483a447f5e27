#include "cli/calibrate.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "cli/device_list.hpp"
#include "cli/waiting.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "predict/profile_choice.hpp"
#include "record/calibrate.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  ToolProgram program{kCalibration};
  std::string name;
  std::string out;  ///< empty: kept where predictions of the GPU find it
  std::vector<std::string> rows;
};

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
    static_cast<void>(output_target(options.out));
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

/// On one GPU, or in a process for each.
ExitStatus calibrate_gpus(CalibrateOptions options, const CLI::App& parser, Console& console) {
  const std::vector<GpuHere> gpus = listed_gpus(options.program.device);
  if (gpus.size() > 1) {
    if (!options.name.empty() || options.out == "-")
      throw InputError(fmt::format("--device {}: --name NAME and --out - are for one GPU; leave them out",
                                   options.program.device));
    EachDevice each = each_device(parser, gpus, {{"--out", options.out}});
    each.at_once = options.program.at_once;
    return run_on_each(each, console);
  }
  if (!gpus.empty()) options.program.device = std::to_string(gpus.front().index);
  return calibrate_now(options, console);
}

}  // namespace

fs::path keep_profile(const DeviceProfile& profile, const fs::path& out, Console& console) {
  const fs::path file = out.empty() ? profile_file(user_profiles(), profile.gpu_uuid) : out;
  if (file == "-") {
    fmt::print(console.out, "{}", to_string(profile));
    return file;
  }
  try {
    std::error_code ignored;  // the file's own error says more
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
    replace_text(file, to_string(profile));
  } catch (const InputError&) {
    keep_profile(profile, "-", console);
    throw;
  }
  return file;
}

ExitStatus calibrate_device(const ToolProgram& program, Console& console) {
  return calibrate_now({program, "", "", {}}, console);
}

Action declare_calibrate(CLI::App& parser) {
  const auto options = std::make_shared<CalibrateOptions>();
  declare_options(parser, options->program);
  parser.add_option(
      "--name", options->name,
      "name of the profile, which rows then carry (default: the GPU's model and the first digits "
      "of its UUID, h200-91faaf4a)");
  parser
      .add_option(
          "--out", options->out,
          "the profile goes here (default: into the user's configuration folder, as UUID.profile, where "
          "run, predict and explain find it; with --rows: standard output, -); of several GPUs FILE.gpuN")
      ->type_name("FILE");
  parser
      .add_option(
          "--rows", options->rows,
          "fit rows measured before (by `calibration --occ_suite=smoke --occ_csv=FILE`), with no GPU; of "
          "several units of one kind: a profile of that kind; all files that follow, up to the next option "
          "or --")
      ->type_name("FILE.csv");
  return [options, &parser](Console& console) {
    return options->rows.empty() ? calibrate_gpus(*options, parser, console)
                                 : calibrate_rows(*options, console);
  };
}

}  // namespace occbench
