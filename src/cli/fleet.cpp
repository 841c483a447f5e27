#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "fleet/rank.hpp"
#include "gate/run.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/installation.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

struct FleetOptions {
  std::vector<std::string> files;
  std::vector<std::string> baseline;
  std::string since;
  std::string model;
  std::string page;
  std::string format;
};

/// Files of rows, except those of the question itself.
std::vector<fs::path> earlier_files(std::vector<fs::path> files, const FleetOptions& options) {
  std::erase_if(files, [&](const fs::path& earlier) {
    return std::ranges::any_of(options.files, [&](const std::string& file) {
      std::error_code error;
      return fs::equivalent(file, earlier, error);
    });
  });
  return files;
}

/// Adds files and says which GPUs are new.
std::vector<std::size_t> add(FleetRows& rows, const auto& files, const std::string& model) {
  const std::size_t before = rows.gpus.size();
  for (const auto& file : files) rows.add(file);
  std::vector<std::size_t> added;
  for (std::size_t gpu = before; gpu < rows.gpus.size(); ++gpu) {
    if (model.empty() || rows.gpus[gpu].model == model) added.push_back(gpu);
  }
  return added;
}

/// Each GPU must be in only one of the files.
void require_each_once(const FleetRows& rows, std::span<const std::size_t> gpus) {
  auto sorted = mapped(gpus, [&](std::size_t gpu) { return &rows.gpus[gpu]; });
  std::ranges::sort(sorted, {}, &MeasuredGpu::uuid);
  const auto twice = std::ranges::adjacent_find(sorted, {}, &MeasuredGpu::uuid);
  if (twice == sorted.end()) return;
  throw InputError(
      "{} is in {} and in {}: judge one run of a GPU, and give the others with --since FOLDER; imported "
      "traces go by folder and file: rename them",
      (*twice)->uuid, (*twice)->run, (*(twice + 1))->run);
}

FleetQuestion read_question(const FleetOptions& options, FleetRows& rows, std::ostream& messages) {
  FleetQuestion question;
  question.judged = add(rows, options.files, options.model);
  if (question.judged.empty()) {
    throw InputError(options.model.empty()
                         ? fmt::format("{}: there is no row below the names of the columns",
                                       fmt::join(options.files, ", "))
                         : fmt::format("--model '{}': no row is of that GPU", options.model));
  }
  require_each_once(rows, question.judged);
  question.baseline = add(rows, options.baseline, options.model);
  if (options.since.empty()) return question;
  FolderOfRuns since = runs_in(options.since);
  for (const fs::path& other : since.others)
    fmt::print(messages, "{} is no file of rows and is left out\n", other.string());
  question.earlier = add(rows, earlier_files(std::move(since.files), options), options.model);
  if (question.earlier.empty())
    throw InputError("--since {}: there is no file of earlier rows in that folder", options.since);
  return question;
}

ExitStatus status_of(const FleetRows& rows, const RankedFleet& ranked) {
  if (ranked.out_of_line() > 0) return ExitStatus::regression;
  return ranked.no_verdict() > 0 || !rows.torn.empty() ? ExitStatus::no_verdict : ExitStatus::done;
}

/// Draws the page with the Python package, from lines of JSON. @returns whether there is a page now
bool draw_page(const std::string& page, const std::string& lines, Console& console) try {
  const std::optional<PythonTools> tools = find_python_tools(console.err);
  if (!tools) return false;
  set_python_path(tools->scripts);
  const TemporaryFolder folder;
  const fs::path input = folder.path() / "fleet.jsonl";
  const fs::path log = folder.path() / "log";
  replace_text(input, lines);
  const ProgramStart python{.program = tools->python,
                            .arguments = {"-m", "occbench_tools", "fleet", "--output", page, input.string()},
                            .output = log};
  const Ending ending = ChildProcess(python).wait();
  fmt::print(console.err, "{}", read_text(log));
  if (ending != Ending{}) fmt::print(console.err, "no page was drawn ({})\n", to_string(ending));
  return ending == Ending{};
} catch (const InputError& error) {
  fmt::print(console.err, "no page was drawn: {}\n", error.what());
  return false;
}

/// The page must not replace a file that is read.
void require_writable_page(const FleetOptions& options) {
  if (options.page.empty()) return;
  std::vector<fs::path> inputs(options.files.begin(), options.files.end());
  inputs.insert(inputs.end(), options.baseline.begin(), options.baseline.end());
  if (!options.since.empty()) std::ranges::move(runs_in(options.since).files, std::back_inserter(inputs));
  require_not_input(options.page, inputs);
  require_not_another_kind(options.page, kPageBegins);
}

ExitStatus fleet(const FleetOptions& options, Console& console) {
  require_writable_page(options);
  FleetRows rows;
  const FleetQuestion question = read_question(options, rows, console.err);
  find_memory_bound(rows);
  for (const std::string& file : rows.torn) tell_torn(file, console.err);
  const RankedFleet ranked = rank_fleet(rows, question);
  if (rows.kind.simulated())
    fmt::print(options.format == "json" ? console.err : console.out, "{}\n", kSimulatedLine);
  if (options.format == "json") {
    fmt::print(console.out, "{}", fleet_json(rows, ranked));
    fmt::print(console.err, "{}\n", fleet_headline(ranked));
  } else {
    fmt::print(console.out, "{}", fleet_table(rows, ranked));
  }
  const bool drawn = options.page.empty() || draw_page(options.page, fleet_json(rows, ranked), console);
  const ExitStatus status = status_of(rows, ranked);
  return status == ExitStatus::done && !drawn ? ExitStatus::no_verdict : status;
}

}  // namespace

Action declare_fleet(CLI::App& parser) {
  const auto options = std::make_shared<FleetOptions>();
  add_value(parser, "files", "ALL.csv", options->files, "rows of GPUs of one model, a run of each GPU")
      ->check(CLI::ExistingFile)
      ->required();
  add_repeated(parser, "--baseline", options->baseline,
               "rows of more GPUs of the model, which are peers and are not judged")
      ->type_name("FILE.csv")
      ->check(CLI::ExistingFile);
  add_value(parser, "--since", "DIR", options->since,
            "folder of files with earlier runs of the same GPUs: what has changed, and since when")
      ->check(CLI::ExistingDirectory);
  add_value(parser, "--model", "NAME", options->model, "only GPUs of this name, as the column gpu has it");
  add_value(parser, "--page", "FILE.html", options->page,
            "also draw an HTML page: a row for each GPU, outliers first");
  add_format(parser, options->format, {"table", "json"}, "table, or json: a line of JSON for each GPU");
  return [options](Console& console) { return fleet(*options, console); };
}

}  // namespace occbench
