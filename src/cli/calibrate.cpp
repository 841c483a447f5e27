#include "record/calibrate.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "cli/tool_program.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  ToolProgram program{"calibration"};
  std::string name = "calibrated";
  std::string out;
  std::vector<std::string> rows;
};

/// Beside the rows, also where gzip has compressed them.
std::vector<Sample> samples_of(const fs::path& rows) {
  const fs::path samples = samples_path(rows);
  const fs::path compressed = samples.string() + ".gz";
  if (fs::exists(samples) || !fs::exists(compressed)) return read_samples(samples);
  return parse_samples(read_gzip_text(compressed), compressed.string());
}

void write(const DeviceProfile& profile, const std::string& file, Console& console) {
  if (file.empty()) {
    fmt::print(console.out, "{}", to_string(profile));
    return;
  }
  std::ofstream out(file, std::ios::binary);
  out << to_string(profile);
  if (!out.flush()) throw InputError(fmt::format("cannot write {}", file));
}

/// Rows measured before.
ToolRun read_runs(const std::vector<std::string>& files) {
  ToolRun run;
  for (const std::string& file : files)
    std::ranges::move(read_case_records(file), std::back_inserter(run.cases));
  run.samples = samples_of(files.front());
  return run;
}

ExitStatus calibrate_device(const CalibrateOptions& options, Console& console) {
  const ToolRun run = options.rows.empty()
                          ? measure(options.program, "some 20 s", {"--occ_suite=smoke"}, {}, console)
                          : read_runs(options.rows);
  if (run.status != ExitStatus::done) return run.status;
  write(calibrate(run.cases, run.samples, options.name), options.out, console);
  return ExitStatus::done;
}

}  // namespace

Action declare_calibrate(CLI::App& parser) {
  const auto options = std::make_shared<CalibrateOptions>();
  declare_options(parser, options->program);
  parser.add_option("--name", options->name, "name of the profile, which rows then carry")
      ->capture_default_str();
  parser.add_option("--out", options->out, "the profile goes here (default: standard output)")
      ->type_name("FILE");
  parser
      .add_option(
          "--rows", options->rows,
          "fit rows measured before (by `calibration --occ_suite=smoke --occ_csv=FILE`), with no GPU; of "
          "several units of one kind: a profile of that kind")
      ->type_name("FILE.csv");
  return [options](Console& console) { return calibrate_device(*options, console); };
}

}  // namespace occbench
