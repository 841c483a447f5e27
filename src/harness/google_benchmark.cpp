#include "harness/google_benchmark.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

/// Columns of a row on the console; the JSON has every number.
constexpr std::string_view kConsoleColumns[] = {"theoretical_pct", "predicted_pct", "achieved_pct",
                                                "time_spread_pct"};

/// Google Benchmark appends this to a name if the times are given to it.
constexpr std::string_view kManualTime = "/manual_time";

/// Keeps the reports.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    runs_.insert(runs_.end(), runs.begin(), runs.end());
  }
  Runs take() {
    return std::move(runs_);
  }

 private:
  Runs runs_;
};

Runs run_one(const std::string& name, const std::function<void(benchmark::State&)>& function) {
  benchmark::RegisterBenchmark(name.c_str(), function)->UseManualTime()->Unit(benchmark::kMicrosecond);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  return collector.take();
}

std::vector<std::string_view> numeric_columns() {
  std::vector<std::string_view> names;
  for (const Column& column : columns()) {
    if (!std::holds_alternative<Text Row::*>(column.where)) names.push_back(column.name);
  }
  return names;
}

/// The numbers of a row in a report. Google Benchmark's own CSV has only the counters of the first case, and
/// announces its own removal: it stays as it is.
std::vector<std::string_view> columns_for(std::string_view format) {
  if (format == "csv") return {};
  return format == "json"
             ? numeric_columns()
             : std::vector<std::string_view>(std::begin(kConsoleColumns), std::end(kConsoleColumns));
}

std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(std::string_view format) {
  if (format == "console") {
    return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
  }
  BENCHMARK_DISABLE_DEPRECATED_WARNING
  if (format == "csv") return std::make_unique<benchmark::CSVReporter>();
  BENCHMARK_RESTORE_DEPRECATED_WARNING
  return std::make_unique<benchmark::JSONReporter>();
}

bool is_aggregate(const benchmark::BenchmarkReporter::Run& run) {
  return run.run_type == benchmark::BenchmarkReporter::Run::RT_Aggregate;
}

}  // namespace

void initialize_google_benchmark(const std::string& program, const Options& options) {
  // Overrides flags that Options::reports has, and their environment variables: Google Benchmark would start the file
  // again with each case.
  std::vector<std::string> arguments = {program, "--benchmark_out=", "--benchmark_list_tests=false",
                                        "--benchmark_display_aggregates_only=false"};
  arguments.insert(arguments.end(), options.google_benchmark.begin(), options.google_benchmark.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  // It keeps a pointer to the program's name.
  pointers.front() = const_cast<char*>(program.c_str());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) {
    throw InputError("'{}' is neither a flag of this suite nor of Google Benchmark; --help lists both",
                     pointers[1]);
  }
}

void list_tests(std::span<const std::string> names) {
  for (const std::string& name : names) fmt::print("{}{}\n", name, kManualTime);
}

GoogleBenchmark::GoogleBenchmark(const Reports& reports, std::size_t widest_name) {
  outputs_.push_back({benchmark::CreateDefaultDisplayReporter(), columns_for(reports.format),
                      reports.display_aggregates_only});
  if (!reports.out.empty()) {
    file_.emplace(reports.out);
    file_reporter_ = make_reporter(reports.out_format);
    file_reporter_->SetOutputStream(&text_);
    file_reporter_->SetErrorStream(&text_);
    outputs_.push_back({file_reporter_.get(), columns_for(reports.out_format), false});
  }
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = widest_name + kManualTime.size();
  if (reports.repetitions > 1) context.name_field_width += std::string_view("_median").size();
  for (const Output& output : outputs_) output.reporter->ReportContext(context);
}

void GoogleBenchmark::finish() {
  for (const Output& output : outputs_) {
    output.reporter->Finalize();
    output.reporter->GetOutputStream().flush();
  }
  if (!file_) return;
  file_->write(text_.str());
  file_->keep();
}

TimedLaunches GoogleBenchmark::time(const std::string& name, const std::function<double()>& launch,
                                    const std::function<bool()>& stopped) {
  std::vector<std::vector<double>> loops;
  std::exception_ptr failure;
  TimedLaunches timed;
  timed.runs = run_one(name, [&](benchmark::State& state) {
    if (failure || stopped()) {
      state.SkipWithError("the run was stopped");
      return;
    }
    std::vector<double>& loop = loops.emplace_back();
    try {
      for ([[maybe_unused]] const auto _ : state) {
        loop.push_back(launch());
        state.SetIterationTime(1e-6 * loop.back());
        if (!stopped()) continue;
        state.SkipWithError("the run was stopped");
        break;
      }
    } catch (...) {
      // Google Benchmark does not pass exceptions on.
      failure = std::current_exception();
      state.SkipWithError("the launch failed");
    }
  });
  if (failure) std::rethrow_exception(failure);
  // The loops before are those of its search for the number of iterations.
  const auto repetitions = static_cast<std::size_t>(timed.runs.empty() ? 0 : timed.runs.front().repetitions);
  const std::size_t first = loops.size() - std::min(repetitions, loops.size());
  for (std::size_t i = first; i < loops.size(); ++i) {
    timed.microseconds.insert(timed.microseconds.end(), loops[i].begin(), loops[i].end());
  }
  return timed;
}

Runs GoogleBenchmark::without_times(const std::string& name, const std::string& reason) {
  return run_one(name, [&](benchmark::State& state) { state.SkipWithError(reason.c_str()); });
}

void GoogleBenchmark::report(Runs runs, const Row& row) {
  for (benchmark::BenchmarkReporter::Run& run : runs) run.family_index = reported_;
  ++reported_;
  const bool has_aggregates = std::ranges::any_of(runs, is_aggregate);
  for (const Output& output : outputs_) {
    Runs shown = runs;
    if (output.aggregates_only && has_aggregates) std::erase_if(shown, std::not_fn(is_aggregate));
    for (benchmark::BenchmarkReporter::Run& run : shown) {
      if (is_aggregate(run)) continue;
      for (const std::string_view name : output.columns) {
        const Real value = number_of(row, *find_column(name));
        if (value) run.counters[std::string(name)] = benchmark::Counter(*value);
      }
    }
    output.reporter->ReportRuns(shown);
    output.reporter->GetOutputStream().flush();
  }
}

}  // namespace occbench
