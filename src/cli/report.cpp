#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "files/input.hpp"
#include "orchestrate/installation.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string output = "report.html";
  std::string timeline;
  std::string per_sm;
  std::string pictures;
  std::vector<std::string> formats;
  std::vector<std::string> charts;
  std::string filter;
};

void check_files(const ReportOptions& options, Console& console) {
  SimulatedOrMeasured kind;
  case_filter(options.filter);  // refuses an invalid regular expression
  if (options.pictures.empty()) {
    require_not_input(options.output, std::vector<fs::path>(options.files.begin(), options.files.end()));
    require_not_another_kind(options.output, kPageBegins);
  }
  for (const std::string& file : options.files) {
    if (fs::exists(file) && !fs::is_regular_file(file) && !fs::is_directory(file))
      throw InputError("{} is no regular file, and a report reads its rows twice: write them to a file first",
                       file);
    bool torn = false;
    const std::vector<Row> rows = read_rows(file, &torn);
    if (torn) tell_torn(file, console.err);
    if (rows.empty()) {
      throw InputError("{}: there is no row below the names of the columns", file);
    }
    for (const Row& row : rows) kind.add(row.time_status, file);
  }
  if (kind.simulated()) fmt::print(console.out, "{}\n", kSimulatedLine);
}

std::vector<std::string> python_arguments(const ReportOptions& options, const std::string& python) {
  std::vector<std::string> arguments = {python,   "-m",         "occbench_tools",
                                        "report", "--occbench", fs::read_symlink("/proc/self/exe").string()};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.push_back(fmt::format("{}={}", name, value));
  };
  add("--output", options.output);
  add("--timeline", options.timeline);
  add("--per-sm", options.per_sm);
  add("--pictures", options.pictures);
  for (const std::string& format : options.formats) add("--picture-format", format);
  for (const std::string& chart : options.charts) add("--chart", chart);
  add("--filter", options.filter);
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), options.files.begin(), options.files.end());
  return arguments;
}

/// Replaces this process by `arguments`; on failure nothing happens.
void become(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
}

ExitStatus report(const ReportOptions& options, Console& console) {
  check_files(options, console);
  const std::optional<PythonTools> tools = find_python_tools(console.err);
  if (!tools) return ExitStatus::no_verdict;
  set_python_path(tools->scripts);
  ::setenv("OCCBENCH_MAX_SIZE", std::to_string(max_file_bytes()).c_str(), 1);
  console.out.flush();
  become(python_arguments(options, tools->python));
  fmt::print(console.err,
             "occbench: {}, which draws the report, cannot be started: {}.\n"
             "Install Python 3.11 or later, or name one in the variable OCCBENCH_PYTHON.\n",
             tools->python, std::strerror(errno));
  return ExitStatus::no_verdict;
}

}  // namespace

Action declare_report(CLI::App& parser) {
  const auto options = std::make_shared<ReportOptions>();
  add_value(parser, "files", "FILE.csv", options->files,
            "files of rows; those of several GPUs or commits are laid over each other")
      ->required();
  CLI::Option* output =
      add_value(parser, "-o,--output,--out", "FILE.html", options->output, "the page")->capture_default_str();
  parser
      .add_option("--timeline", options->timeline,
                  "occupancy over time: a folder of *.timeline.csv (default: timeline/ beside the first "
                  "file), or what trace --timeline wrote")
      ->type_name("PATH")
      ->check(CLI::ExistingPath);
  parser
      .add_option("--per-sm", options->per_sm,
                  "recordings of each SM, *.per_sm.csv (default: per_sm/ beside the first file)")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  CLI::Option* pictures = add_value(parser, "--pictures", "FOLDER", options->pictures,
                                    "no page: each chart as a picture, into this folder")
                              ->excludes(output);
  add_repeated(parser, "--picture-format", options->formats, "svg, png or json (Vega-Lite); all unless given")
      ->check(CLI::IsMember({"svg", "png", "json"}))
      ->needs(pictures);
  add_repeated(parser, "--chart", options->charts, "only the chart of this name")->type_name("NAME");
  add_value(parser, "--filter", "RE", options->filter,
            "only rows in whose experiment/case this regular expression is found");
  return [options](Console& console) { return report(*options, console); };
}

}  // namespace occbench
