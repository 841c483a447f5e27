#include <cstdio>
#include <exception>
#include <map>
#include <memory>

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "gpu/error.hpp"
#include "harness/case_run.hpp"
#include "harness/experiment.hpp"
#include "harness/options.hpp"
#include "harness/reporter.hpp"
#include "harness/session.hpp"
#include "occupancy/exit_status.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/columns.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

/// What the console shows of a row; the JSON has every number.
constexpr std::string_view kConsoleColumns[] = {"theoretical_pct", "predicted_pct", "achieved_pct",
                                                "time_spread_pct"};

std::vector<std::string_view> numeric_columns() {
  std::vector<std::string_view> names;
  for (const Column& column : columns()) {
    if (!std::holds_alternative<Text Row::*>(column.where)) names.push_back(column.name);
  }
  return names;
}

using CaseRuns = std::map<std::string, std::unique_ptr<CaseRun>, std::less<>>;

std::vector<std::unique_ptr<CaseRun>> chosen_cases(Session& session) {
  const auto matches = case_filter(benchmark::GetBenchmarkFilter());
  std::vector<std::unique_ptr<CaseRun>> chosen;
  for (Case& declared : experiment.cases(Planner(session.device()))) {
    if (declared.suite > session.options().suite) continue;
    if (session.options().small) declared = make_small(std::move(declared));
    auto run = std::make_unique<CaseRun>(session, experiment, std::move(declared));
    if (matches(run->name())) chosen.push_back(std::move(run));
  }
  if (chosen.empty()) {
    throw InputError(
        fmt::format("--benchmark_filter={} matches no case of this suite of {}; --occ_list shows the cases",
                    benchmark::GetBenchmarkFilter(), experiment.name));
  }
  return chosen;
}

void register_case(CaseRun& run) {
  benchmark::RegisterBenchmark(run.name().c_str(), [&run](benchmark::State& state) { run.time(state); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

/// The value of the last `--NAME=value` among the arguments, empty if there is none.
std::string argument_value(const std::vector<std::string>& arguments, std::string_view name) {
  const std::string prefix = fmt::format("--{}=", name);
  for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
    if (argument->starts_with(prefix)) return argument->substr(prefix.size());
  }
  return "";
}

std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(const std::string& format) {
  if (format == "console")
    return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
  return std::make_unique<benchmark::JSONReporter>();
}

void run_benchmarks(const FindRow& find_row, const std::vector<std::string>& arguments) {
  // Google Benchmark's own CSV cannot hold counters that appear late, and says itself that it is on its way
  // out: it passes as it is, without our numbers.
  static constexpr std::string_view kNone[] = {"time_us"};
  const std::span<const std::string_view> nothing(kNone, 0);
  const bool console_is_csv = argument_value(arguments, "benchmark_format") == "csv";
  const bool console_is_json = argument_value(arguments, "benchmark_format") == "json";
  const std::vector<std::string_view> numbers = numeric_columns();
  RowReporter display(*benchmark::CreateDefaultDisplayReporter(), find_row,
                      console_is_csv    ? nothing
                      : console_is_json ? std::span<const std::string_view>(numbers)
                                        : std::span<const std::string_view>(kConsoleColumns));
  const std::string file_format = argument_value(arguments, "benchmark_out_format");
  if (argument_value(arguments, "benchmark_out").empty() || file_format == "csv") {
    benchmark::RunSpecifiedBenchmarks(&display);
    return;
  }
  const auto inner = file_reporter(file_format);
  RowReporter file(*inner, find_row, numbers);
  benchmark::RunSpecifiedBenchmarks(&display, &file);
}

void initialize_google_benchmark(const std::string& program, const Options& options) {
  std::vector<std::string> arguments = options.google_benchmark;
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) {
    throw InputError(fmt::format(
        "'{}' is neither a flag of this suite nor of Google Benchmark; --help lists both", pointers[1]));
  }
}

ExitStatus launch_each_once(std::span<const std::unique_ptr<CaseRun>> runs) {
  ExitStatus status = ExitStatus::done;
  for (const auto& run : runs) {
    const bool right = run->launch_once();
    fmt::print("{} {}\n",
               run->row().time_status == "skipped" ? "skipped"
               : right                             ? "launched"
                                                   : "wrong",
               run->name());
    if (!right) status = ExitStatus::no_verdict;
  }
  return status;
}

ExitStatus run(const std::string& program, const Options& options) {
  initialize_google_benchmark(program, options);
  const Device device = open_device(options.device);
  for (const std::string& note : device.notes) fmt::print(stderr, "{}: {}\n", device.name, note);
  Session session(device, options);
  std::vector<std::unique_ptr<CaseRun>> chosen_runs = chosen_cases(session);
  if (options.list) {
    for (const auto& chosen : chosen_runs) fmt::print("{}\n", json_text(row_to_json(chosen->row()), -1));
    return ExitStatus::done;
  }
  if (options.profile) return launch_each_once(chosen_runs);
  session.open_file();
  CaseRuns runs;
  for (auto& chosen : chosen_runs) {
    if (session.is_finished(chosen->row().experiment, chosen->row().case_)) continue;
    register_case(*chosen);
    runs.emplace(chosen->name(), std::move(chosen));
  }
  if (runs.empty()) {
    fmt::print(stderr, "{}: nothing is missing in {}\n", experiment.name, options.csv->string());
    return ExitStatus::done;
  }
  catch_interrupts();
  benchmark::SetBenchmarkFilter(".");
  run_benchmarks(
      [&](std::string_view name, std::size_t repetitions) -> const Row* {
        const auto found = runs.find(name);
        return found == runs.end() ? nullptr : &found->second->finish(repetitions);
      },
      options.google_benchmark);
  if (session.stop() != Stop::no) {
    fmt::print(stderr, "{}: {}; the finished rows are kept, --occ_resume runs the rest\n", experiment.name,
               session.stop() == Stop::interrupted
                   ? "interrupted"
                   : "a kernel failed and took the process's CUDA context with it");
  }
  return session.complete() ? ExitStatus::done : ExitStatus::no_verdict;
}

ExitStatus guarded_main(const std::vector<std::string>& arguments) {
  try {
    const Options options = parse_options({arguments.begin() + 1, arguments.end()});
    if (options.help) {
      fmt::print("{}: {}\n\n{}\n", experiment.name, experiment.claim, options_help());
      benchmark::PrintDefaultHelp();
      return ExitStatus::done;
    }
    return run(arguments.front(), options);
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return ExitStatus::usage;
  } catch (const GpuUnavailable& error) {
    fmt::print(stderr, "nothing was measured: {}\n", error.what());
    return ExitStatus::no_verdict;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal fault: {}\n", error.what());
    return ExitStatus::fault;
  }
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) {
  return static_cast<int>(occbench::guarded_main({argv, argv + argc}));
}
