#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> files;
  std::string output = "report.html";
  std::string timeline;
  std::string per_sm;
  std::string pictures;
  std::vector<std::string> formats;
  std::vector<std::string> charts;
};

/// The folder above this program that has scripts/report: a build folder lies in the source tree.
std::optional<fs::path> source_tree(const fs::path& program) {
  for (fs::path folder = program.parent_path(); folder != folder.parent_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "scripts" / "report" / "__main__.py")) return folder;
  }
  return std::nullopt;
}

/// The Python that has the report's packages. @throws InputError if the one that the user named cannot be run
std::optional<fs::path> python_of(const fs::path& tree) {
  if (const char* named = std::getenv("OCCBENCH_PYTHON"); named != nullptr && *named != '\0') {
    if (::access(named, X_OK) != 0) {
      throw InputError(fmt::format("OCCBENCH_PYTHON={}: {}; name a Python with the packages of {}", named,
                                   std::strerror(errno), (tree / "scripts/requirements.lock").string()));
    }
    return named;
  }
  fs::path python = tree / "build" / "python" / "bin" / "python";
  return ::access(python.c_str(), X_OK) == 0 ? std::optional(python) : std::nullopt;
}

void check_files(const ReportOptions& options) {
  for (const std::string& file : options.files) {
    std::error_code error;
    if (options.pictures.empty() && fs::equivalent(file, options.output, error)) {
      throw InputError(
          fmt::format("-o {}: that is a file of rows, and would be overwritten", options.output));
    }
    if (read_rows(file).empty()) {
      throw InputError(fmt::format("{}: there is no row below the names of the columns", file));
    }
  }
}

std::vector<std::string> python_arguments(const ReportOptions& options, const fs::path& program,
                                          const fs::path& python, const fs::path& tree) {
  std::vector<std::string> arguments = {python.string(), (tree / "scripts" / "report").string(), "--occbench",
                                        program.string()};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.push_back(fmt::format("{}={}", name, value));
  };
  add("--output", options.output);
  add("--timeline", options.timeline);
  add("--per-sm", options.per_sm);
  add("--pictures", options.pictures);
  for (const std::string& format : options.formats) add("--picture-format", format);
  for (const std::string& chart : options.charts) add("--chart", chart);
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), options.files.begin(), options.files.end());
  return arguments;
}

/// This process becomes `arguments`. @throws std::system_error if it cannot
[[noreturn]] void become(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(pointers.front(), pointers.data());
  throw std::system_error(errno, std::generic_category(), fmt::format("cannot start {}", arguments.front()));
}

ExitStatus report(const ReportOptions& options, Console& console) {
  check_files(options);
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::optional<fs::path> tree = source_tree(program);
  if (!tree) {
    fmt::print(
        console.err,
        "occbench: the report is drawn by scripts/report of the source tree, and there is none above {}.\n"
        "Run the occbench of a build folder in a checkout.\n",
        program.string());
    return ExitStatus::no_verdict;
  }
  const std::optional<fs::path> python = python_of(*tree);
  if (!python) {
    fmt::print(
        console.err,
        "occbench: the report is drawn by Python, which is not set up in {}.\n"
        "Run {} --version once, or name a Python with the packages of scripts/requirements.lock in the "
        "variable OCCBENCH_PYTHON.\n",
        (*tree / "build/python").string(), (*tree / "scripts/python").string());
    return ExitStatus::no_verdict;
  }
  console.out.flush();
  become(python_arguments(options, program, *python, *tree));
}

}  // namespace

Action declare_report(CLI::App& parser) {
  const auto options = std::make_shared<ReportOptions>();
  parser
      .add_option("files", options->files,
                  "files of rows; those of several GPUs or commits are laid over each other")
      ->type_name("FILE.csv")
      ->required();
  CLI::Option* output = parser.add_option("-o,--output", options->output, "the page")
                            ->type_name("FILE.html")
                            ->capture_default_str();
  const auto folder = [&](const char* name, std::string& value, const char* meaning) {
    parser.add_option(name, value, meaning)->type_name("FOLDER")->check(CLI::ExistingDirectory);
  };
  folder("--timeline", options->timeline,
         "occupancy over time, *.timeline.csv (default: timeline/ beside the first file)");
  folder("--per-sm", options->per_sm,
         "recordings of each SM, *.per_sm.csv (default: per_sm/ beside the first file)");
  CLI::Option* pictures =
      parser
          .add_option("--pictures", options->pictures, "no page: each chart as a picture, into this folder")
          ->type_name("FOLDER")
          ->excludes(output);
  parser.add_option("--picture-format", options->formats, "svg, png or json (Vega-Lite); all unless given")
      ->check(CLI::IsMember({"svg", "png", "json"}))
      ->expected(1)
      ->take_all()
      ->needs(pictures);
  parser.add_option("--chart", options->charts, "only the chart of this name; any number of times")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  return [options](Console& console) { return report(*options, console); };
}

}  // namespace occbench
