#include "harness/run.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "files/lock.hpp"
#include "files/output.hpp"
#include "files/stop_signals.hpp"
#include "gpu/error.hpp"
#include "harness/fastest.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/measure_case.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/progress_lines.hpp"

namespace occbench {
namespace {

/// Reports progress to the parent process. A failure to report has no other effect.
class ProgressWriter {
 public:
  /// @param descriptor  to write to; empty: progress is not reported
  /// @throws InputError if it is not open
  explicit ProgressWriter(std::optional<int> descriptor) : descriptor_(descriptor) {
    if (!descriptor_) return;
    // Programs that this one starts would keep the pipe open.
    if (::fcntl(*descriptor_, F_SETFD, FD_CLOEXEC) != 0)
      throw InputError("--occ_progress_fd={}: no such file descriptor is open", *descriptor_);
    // A reader that has gone must not end the measurement.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  }

  void tell(const CaseProgress& progress) {
    if (descriptor_ && !write_all(*descriptor_, progress_line(progress))) descriptor_.reset();
  }

 private:
  std::optional<int> descriptor_;
};

/// The third stage of a run: the output of measured cases, one after another.
class Output {
 public:
  /// @param file  nullptr: rows are not kept
  Output(std::unique_ptr<RunFile> file, ProgressWriter progress, GoogleBenchmark& benchmark)
      : file_(std::move(file)), progress_(progress), benchmark_(benchmark) {}

  void begin(const PlannedCase& planned) {
    if (planned.can_launch()) progress_.tell({planned.name, false});
  }

  /// Written to disk, then reported, then printed.
  void end(const PlannedCase& planned, MeasuredCase measured) {
    const Row row = row_of(measured.record);
    if (file_) file_->append(row, measured.samples.all());
    progress_.tell({planned.name, true});
    if (measured.runs.empty()) measured.runs = benchmark_.without_times(planned.name, row.note);
    benchmark_.report(std::move(measured.runs), row);
  }

  /// The same for several cases of a race, which Google Benchmark has not timed.
  void end(std::span<const MeasuredCase> cases) {
    std::vector<Row> rows;
    std::vector<Sample> samples;
    for (const MeasuredCase& measured : cases) {
      rows.push_back(row_of(measured.record));
      samples.insert(samples.end(), measured.samples.all().begin(), measured.samples.all().end());
    }
    if (file_) file_->append_all(rows, samples);
    for (const Row& row : rows) progress_.tell({full_name(row), true});
  }

 private:
  std::unique_ptr<RunFile> file_;
  ProgressWriter progress_;
  GoogleBenchmark& benchmark_;
};

/// Prints how many passes the requested metrics need. @throws InputError if the GPU does not have one, with the
/// nearest that it has
void check_metrics(const std::vector<std::string>& metrics, Instruments& instruments) {
  if (metrics.empty()) return;
  try {
    const MetricCatalog catalog = instruments.metric_catalog();
    for (const std::string& metric : metrics) {
      if (catalog.has(metric)) continue;
      throw InputError("--occ_metrics: this GPU ({}) has no metric {}; the nearest are {}", catalog.chip(),
                       metric, fmt::join(catalog.nearest(metric, 5), ", "));
    }
    const std::size_t passes = catalog.passes(metrics);
    fmt::print(stderr, "--occ_metrics: {} of them in {} pass{}: each launch that reads them is made {}\n",
               metrics.size(), passes, passes == 1 ? "" : "es",
               passes == 1 ? "once" : fmt::format("{} times", passes));
  } catch (const CountersUnavailable& unavailable) {
    // The columns stay empty, and each row says why.
    fmt::print(stderr, "--occ_metrics: {}\n", unavailable.what());
  }
}

/// "launched", "wrong" if the result was, or "skipped". @throws CudaError
std::string_view launch_once(const PlannedCase& planned, const Device& device, Instruments& instruments) {
  if (!planned.can_launch()) return "skipped";
  try {
    const Check check = ReadyCase(planned, device, instruments).check_and_launch();
    return check == Check::wrong ? "wrong" : "launched";
  } catch (const CannotRun&) {
    return "skipped";
  }
}

ExitStatus launch_each_once(std::span<const PlannedCase> cases, const Device& device,
                            Instruments& instruments) {
  ExitStatus status = ExitStatus::done;
  for (const PlannedCase& planned : cases) {
    const std::string_view outcome = launch_once(planned, device, instruments);
    fmt::print("{} {}\n", outcome, planned.name);
    if (outcome == "wrong") status = ExitStatus::no_verdict;
  }
  return status;
}

void make_folder(const std::optional<fs::path>& folder, std::string_view flag) {
  if (!folder) return;
  std::error_code error;
  fs::create_directories(*folder, error);
  if (error || !fs::is_directory(*folder)) {
    throw InputError("{}={}: the folder cannot be made: {}", flag, folder->string(),
                     error ? error.message() : "it is a file");
  }
}

/// nullptr if rows are not kept. @throws InputError if it cannot be written, or resumed
std::unique_ptr<RunFile> open_rows(const Options& options, std::span<const PlannedCase> cases) {
  if (!options.csv) return nullptr;
  if (!options.resume) {
    const FileLock lock(*options.csv);  // not while another run writes them
    for (const SetAside& kept : set_aside(*options.csv))
      fmt::print(stderr, "{} was there already and is kept as {}\n", kept.file.string(),
                 kept.kept_as.string());
  }
  auto file = std::make_unique<RunFile>(
      *options.csv, options.resume ? RunFile::Mode::resume : RunFile::Mode::create, options.metrics);
  std::set<std::string_view> experiments;
  for (const PlannedCase& planned : cases) {
    if (experiments.insert(planned.known.identity.experiment).second)
      file->require_same_origin(row_of(planned.known));
  }
  return file;
}

/// The same order for the same seed on every machine, which std::shuffle does not promise.
void shuffle(std::vector<PlannedCase>& cases, std::uint64_t seed) {
  fmt::print(stderr, "cases in random order; --occ_shuffle={} repeats it\n", seed);
  std::mt19937_64 generator(seed);
  for (std::size_t left = cases.size(); left > 1; --left)
    std::swap(cases[left - 1], cases[generator() % left]);
}

/// The least time of rows that a race in an earlier process has written, empty if none was timed.
std::optional<double> fastest_of(const RunFile& file) {
  std::optional<double> least;
  for (const Row& row : file.finished()) {
    const bool counts = row.time_us && row.check != "wrong" && row.time_status != "failed";
    if (counts && (!least || *row.time_us < *least)) least = row.time_us;
  }
  return least;
}

/// Leaves out cases that the file of rows has already, from the run that this one resumes.
void leave_out_finished(std::vector<PlannedCase>& cases, const RunFile& file) {
  std::set<std::string> finished;
  for (const Row& row : file.finished()) finished.insert(full_name(row));
  std::erase_if(cases, [&](const PlannedCase& planned) { return finished.contains(planned.name); });
}

/// Whether everything requested for the case was measured.
bool is_whole(const MeasuredCase& measured, CounterMode counters) {
  const CaseRecord& record = measured.record;
  const bool counted = counters != CounterMode::require || record.readings.status == CountersStatus::ok ||
                       record.times.status == TimeStatus::skipped;
  return record.times.status != TimeStatus::failed && record.check != Check::wrong && counted &&
         !measured.missed;
}

std::size_t widest_name(std::span<const PlannedCase> cases) {
  std::size_t widest = 0;
  for (const PlannedCase& planned : cases) widest = std::max(widest, planned.name.size());
  return widest;
}

/// Measures, records and reports one case after another, until the run is stopped.
ExitStatus measure_each(std::span<const PlannedCase> cases, const MeasureWith& with, Output& output) {
  ExitStatus status = ExitStatus::done;
  const char* stopped = nullptr;
  for (const PlannedCase& planned : cases) {
    std::optional<MeasuredCase> measured;
    if (!stop_asked()) {
      output.begin(planned);
      measured = measure_case(planned, with);
    }
    if (!measured) {
      stopped = "interrupted";
      break;
    }
    if (!is_whole(*measured, with.options.counters)) status = ExitStatus::no_verdict;
    output.end(planned, std::move(*measured));
    if (!with.instruments.context_is_lost()) continue;
    stopped = "a kernel failed and took the process's CUDA context with it";
    break;
  }
  if (stopped == nullptr) return status;
  fmt::print(stderr, "{}; the finished rows are kept, --occ_resume runs the rest\n", stopped);
  return ExitStatus::no_verdict;
}

ExitStatus measure(std::vector<PlannedCase> cases, const Options& options, const Device& device,
                   Instruments& instruments, const ChosenProfile& profile) {
  const ProgressWriter progress(options.progress_fd);
  make_folder(options.timeline, "--occ_timeline");
  make_folder(options.per_sm, "--occ_per_sm");
  std::unique_ptr<RunFile> file = open_rows(options, cases);
  if (options.shuffle) shuffle(cases, *options.shuffle);
  if (file) leave_out_finished(cases, *file);
  const std::optional<double> known_us = file ? fastest_of(*file) : std::nullopt;
  if (cases.empty()) {
    fmt::print(stderr, "nothing is missing in {}\n", options.csv->string());
    return ExitStatus::done;
  }
  GoogleBenchmark benchmark(options.reports, widest_name(cases));
  Output output(std::move(file), progress, benchmark);
  const CounterSetup counters = set_up_counters(instruments, options);
  const MeasureWith with{device, instruments, options, counters, profile, benchmark};
  const ExitStatus status =
      options.fastest
          ? measure_fastest(cases, with,
                            {.begin = [&](const PlannedCase& planned) { output.begin(planned); },
                             .end = [&](std::span<const MeasuredCase> measured) { output.end(measured); }},
                            known_us)
          : measure_each(cases, with, output);
  benchmark.finish();
  return status;
}

/// Names the profile of the predictions if it is not the GPU's own.
void print_remark(const ChosenProfile& used, const Options& options, const Device& device) {
  const std::string remark = remark_on(used.profile.name, used.quality, device.name);
  if (remark.empty()) return;
  const bool by_choice = options.device_profile || options.planned_for;
  fmt::print(stderr, "{}{}\n", remark,
             by_choice ? "" : "; `occbench calibrate` makes one of this GPU, in less than 20 s");
}

/// Prints the cases as JSON, one per line, with their data before a launch and without empty cells, or writes them to
/// Options::list_file as rows.
void list_cases(std::span<const PlannedCase> cases, const Options& options) {
  std::string rows = csv_header();
  for (const PlannedCase& each : cases) {
    const Row row = row_of(each.known);
    if (options.list_file) {
      rows += csv_record(row);
    } else {
      fmt::print("{}\n", json_text(known_cells(row), -1));
    }
  }
  if (options.list_file) replace_text(*options.list_file, rows);
}

void describe(const Experiment& described) {
  Json object = {{"name", described.name}, {"claim", described.claim}, {"source", described.source}};
  if (described.families) {
    for (const Family& family : described.families()) {
      Json axes = Json::array();
      for (const SweepAxis& axis : family.axes)
        axes.push_back({{"name", axis.name}, {"meaning", axis.meaning}, {"values", axis.values}});
      object["families"].push_back(
          {{"name", family.name}, {"description", family.description}, {"axes", axes}});
    }
  }
  fmt::print("{}\n", json_text(object, -1));
}

/// Experiments by the name with which the program was started.
std::vector<const Experiment*> chosen_experiments(std::span<const Experiment* const> suite,
                                                  std::span<const Experiment* const> tools,
                                                  const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  for (const Experiment* const of : suite) {
    if (name == fmt::format("bench_{}", of->name)) return {of};
  }
  for (const Experiment* const of : tools) {
    if (name == of->name) return {of};
  }
  return {suite.begin(), suite.end()};
}

/// A wrong axis is refused without a GPU too.
Device device_for(std::span<const Experiment* const> experiments, const Options& options) {
  if (options.planned_for) return *options.planned_for;
  try {
    return open_device(options.device);
  } catch (const GpuUnavailable&) {
    if (options.sweep) require_axes(experiments, *options.sweep);
    throw;
  }
}

ExitStatus run_program(std::span<const Experiment* const> experiments, const std::string& program,
                       const std::vector<std::string>& arguments) {
  const Options options = parse_options(arguments);
  if (options.help) {
    for (const Experiment* const of : experiments) fmt::print("{}: {}\n", of->name, of->claim);
    fmt::print("\n{}\n", options_help());
    benchmark::PrintDefaultHelp();
    return ExitStatus::done;
  }
  if (options.describe) {
    for (const Experiment* const of : experiments) describe(*of);
    return ExitStatus::done;
  }
  initialize_google_benchmark(program, options);
  const Device device = device_for(experiments, options);
  for (const std::string& note : device.notes) fmt::print(stderr, "{}: {}\n", device.name, note);
  const std::unique_ptr<Instruments> instruments = options.planned_for
                                                       ? std::make_unique<Instruments>()
                                                       : make_gpu_instruments(device, readings_of(options));
  const StopOnSignals stop;
  return run_experiments(experiments, options, device, *instruments);
}

}  // namespace

ExitStatus run_experiments(std::span<const Experiment* const> experiments, const Options& options,
                           const Device& device, Instruments& instruments) {
  const ChosenProfile profile =
      options.device_profile ? chosen(*options.device_profile, device) : choose_profile(device);
  // If a list fails, the reason must come first.
  if (!options.list) print_remark(profile, options, device);
  std::vector<PlannedCase> cases =
      plan_cases(experiments, options, benchmark::GetBenchmarkFilter(), device, instruments);
  if (options.fastest) leave_out_same_code(cases);
  if (options.profile) return launch_each_once(cases, device, instruments);
  // Also for a list, which is requested before a file exists that a wrong name could leave without rows.
  check_metrics(options.metrics, instruments);
  if (options.list) {
    list_cases(cases, options);
    std::fflush(stdout);  // The reader of the list has both in one file.
    print_remark(profile, options, device);
    return ExitStatus::done;
  }
  if (options.list_tests) {
    list_tests(mapped(cases, &PlannedCase::name));
    return ExitStatus::done;
  }
  return measure(std::move(cases), options, device, instruments, profile);
}

int measuring_main(std::span<const Experiment* const> suite, std::span<const Experiment* const> tools,
                   int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const auto run = [&] {
    try {
      return run_program(chosen_experiments(suite, tools, arguments.front()), arguments.front(),
                         {arguments.begin() + 1, arguments.end()});
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
  };
  const ExitStatus status = run();
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
    return static_cast<int>(status);
  fmt::print(stderr, "standard output could not be written (is its disk full, or its reader gone?)\n");
  return static_cast<int>(status == ExitStatus::done ? ExitStatus::usage : status);
}

}  // namespace occbench
