#include "harness/run_cases.hpp"

#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "harness/case_run.hpp"
#include "harness/reporter.hpp"
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

/// The cases that are still to be reported, and the one that is. A process runs thousands of cases: all that
/// one gathered on its way to its row goes when the next is reported.
class CaseRuns {
 public:
  bool empty() const {
    return waiting_.empty();
  }

  void add(std::unique_ptr<CaseRun> run) {
    waiting_.emplace(run->name(), std::move(run));
  }

  /// As FindRow: each of Google Benchmark's reporters asks for the row of a case before the next case begins.
  const Row* finished_row(std::string_view name, std::size_t repetitions) {
    if (const auto found = waiting_.find(name); found != waiting_.end()) {
      reported_ = std::move(found->second);
      waiting_.erase(found);
      reported_->finish(repetitions);
    }
    return reported_ && reported_->name() == name ? &reported_->row() : nullptr;
  }

 private:
  std::map<std::string, std::unique_ptr<CaseRun>, std::less<>> waiting_;
  std::unique_ptr<CaseRun> reported_;
};

std::vector<std::unique_ptr<CaseRun>> chosen_cases(Session& session, const Experiment& of) {
  const auto matches = case_filter(benchmark::GetBenchmarkFilter());
  std::vector<std::unique_ptr<CaseRun>> chosen;
  for (Case& declared : of.cases(Planner(session.device()))) {
    if (declared.suite > session.options().suite) continue;
    if (declared.work) declared.work->poll_cycles_per_warp = declared.kernel->poll_cycles_per_warp;
    if (session.options().small) declared = make_small(std::move(declared));
    auto run = std::make_unique<CaseRun>(session, of, std::move(declared));
    if (matches(run->name())) chosen.push_back(std::move(run));
  }
  if (chosen.empty()) {
    throw InputError(
        fmt::format("--benchmark_filter={} matches no case of this suite of {}; --occ_list shows the cases",
                    benchmark::GetBenchmarkFilter(), of.name));
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

/// The numbers that a reporter of Google Benchmark's shows of a row. Its own CSV cannot hold counters that
/// appear late, and says itself that it is on its way out: it stays as it is.
std::vector<std::string_view> columns_for(const std::string& format) {
  if (format == "csv") return {};
  return format == "json"
             ? numeric_columns()
             : std::vector<std::string_view>(std::begin(kConsoleColumns), std::end(kConsoleColumns));
}

std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(const std::string& format) {
  if (format == "console") {
    return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
  }
  return std::make_unique<benchmark::JSONReporter>();
}

void run_benchmarks(const FindRow& find_row, const std::vector<std::string>& arguments) {
  RowReporter display(*benchmark::CreateDefaultDisplayReporter(), find_row,
                      columns_for(argument_value(arguments, "benchmark_format")));
  const std::string format = argument_value(arguments, "benchmark_out_format");
  if (argument_value(arguments, "benchmark_out").empty() || format == "csv") {
    benchmark::RunSpecifiedBenchmarks(&display);
    return;
  }
  const auto inner = file_reporter(format);
  RowReporter file(*inner, find_row, columns_for(format == "console" ? format : "json"));
  benchmark::RunSpecifiedBenchmarks(&display, &file);
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

/// The same order for the same seed on every machine, which std::shuffle does not promise.
void shuffle(std::vector<std::unique_ptr<CaseRun>>& cases, std::uint64_t seed) {
  fmt::print(stderr, "cases in random order; --occ_shuffle={} repeats it\n", seed);
  std::mt19937_64 generator(seed);
  for (std::size_t left = cases.size(); left > 1; --left)
    std::swap(cases[left - 1], cases[generator() % left]);
}

ExitStatus measure(Session& session, const Experiment& of, std::vector<std::unique_ptr<CaseRun>> chosen) {
  session.open_files(of);
  if (session.options().shuffle) shuffle(chosen, *session.options().shuffle);
  CaseRuns runs;
  for (auto& run : chosen) {
    if (session.is_finished(run->row().experiment, run->row().case_)) continue;
    register_case(*run);
    runs.add(std::move(run));
  }
  if (runs.empty()) {
    fmt::print(stderr, "{}: nothing is missing in {}\n", of.name, session.options().csv->string());
    return ExitStatus::done;
  }
  benchmark::SetBenchmarkFilter(".");
  run_benchmarks(
      [&](std::string_view name, std::size_t repetitions) { return runs.finished_row(name, repetitions); },
      session.options().google_benchmark);
  if (session.stop() != Stop::no) {
    fmt::print(stderr, "{}: {}; the finished rows are kept, --occ_resume runs the rest\n", of.name,
               session.stop() == Stop::interrupted
                   ? "interrupted"
                   : "a kernel failed and took the process's CUDA context with it");
  }
  return session.complete() ? ExitStatus::done : ExitStatus::no_verdict;
}

}  // namespace

ExitStatus run_cases(Session& session, const Experiment& of) {
  std::vector<std::unique_ptr<CaseRun>> chosen = chosen_cases(session, of);
  if (session.options().profile) return launch_each_once(chosen);
  // Also for a list, which is asked for before there is a file that a wrong name could leave without rows.
  session.check_metrics();
  if (session.options().list) {
    for (const auto& run : chosen) fmt::print("{}\n", json_text(row_to_json(run->row()), -1));
    return ExitStatus::done;
  }
  return measure(session, of, std::move(chosen));
}

}  // namespace occbench
