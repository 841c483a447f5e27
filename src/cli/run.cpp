#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/bench_runner.hpp"
#include "cli/commands.hpp"
#include "cli/gpu_presence.hpp"
#include "cli/progress.hpp"
#include "cli/recorded.hpp"
#include "cli/row_table.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

fs::path output_file(const RunOptions& options) {
  if (!options.out.empty()) return options.out;
  // Named by the time, so that no run ever replaces another.
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fs::path("results") / "local" /
         fmt::format("{:%Y%m%dT%H%M%SZ}-{}.csv", fmt::gmtime(now), options.suite);
}

void list(std::span<const Bench> benches, Console& console) {
  for (const Bench& bench : benches) {
    for (const CaseRecord& each : bench.cases) fmt::print(console.out, "{}\n", full_name(each.identity));
  }
}

std::set<std::string> names_of(std::span<const Bench> benches) {
  std::set<std::string> names;
  for (const Bench& bench : benches) {
    for (const CaseRecord& each : bench.cases) names.insert(full_name(each.identity));
  }
  return names;
}

/// The file that the binaries then resume, one after another.
void prepare_file(const fs::path& out, const RunOptions& options, std::span<const Bench> benches) {
  const RunFile file(out, options.resume ? RunFile::Mode::resume : RunFile::Mode::create, options.metrics);
  for (const Bench& bench : benches) file.require_same_origin(row_of(bench.cases.front()));
}

bool has_times(const CaseRecord& record) {
  return record.times.status == TimeStatus::ok || record.times.status == TimeStatus::unstable;
}

/// How many cases of a run are as they should be, and how many are not.
struct Tally {
  std::ptrdiff_t failed, wrong, skipped, unstable, uncounted;
};

Tally tally_of(std::span<const CaseRecord> cases) {
  const auto with = [&](TimeStatus status) {
    return std::ranges::count(cases, status, [](const CaseRecord& each) { return each.times.status; });
  };
  return {.failed = with(TimeStatus::failed),
          .wrong = std::ranges::count(cases, Check::wrong, &CaseRecord::check),
          .skipped = with(TimeStatus::skipped),
          .unstable = with(TimeStatus::unstable),
          .uncounted = std::ranges::count_if(cases, [](const CaseRecord& each) {
            return has_times(each) && each.readings.status != CountersStatus::ok;
          })};
}

/// Why counters could not be read, as the first such case says.
void print_why_uncounted(std::span<const CaseRecord> cases, Console& console) {
  const auto first = std::ranges::find_if(cases, [](const CaseRecord& each) {
    return each.readings.status && each.readings.status != CountersStatus::ok;
  });
  if (first != cases.end() && !first->note.empty()) fmt::print(console.err, "counters: {}\n", first->note);
}

/// What is not as it should be, in one line each. @returns whether all that was asked for was measured
bool summarize(const BenchRunner& runner, const std::set<std::string>& wanted, const RunOptions& options,
               Console& console) {
  // A file that is resumed may have others.
  std::vector<CaseRecord> cases = runner.cases();
  std::erase_if(cases, [&](const CaseRecord& each) { return !wanted.contains(full_name(each.identity)); });
  const Tally tally = tally_of(cases);
  fmt::print(console.out,
             "\n{} of {} cases: {} failed, {} with a wrong result, {} skipped, {} unstable, {} without "
             "counters. {}\n",
             cases.size(), wanted.size(), tally.failed, tally.wrong, tally.skipped, tally.unstable,
             tally.uncounted, agreement(cases));
  if (tally.uncounted > 0) print_why_uncounted(cases, console);
  const bool counters_missing = options.counters == "require" && tally.uncounted > 0;
  const bool whole =
      tally.failed == 0 && tally.wrong == 0 && cases.size() >= wanted.size() && !counters_missing;
  if (whole && runner.something_missed()) {
    fmt::print(console.err, "not all that was asked for was measured: the rows' column note says why\n");
  }
  return whole && !runner.something_missed();
}

ExitStatus measure(const RunOptions& options, Console& console) {
  const StopOnSignals stop;
  std::vector<Bench> benches;
  try {
    benches = planned_benches(options);
  } catch (const CannotList& failure) {
    fmt::print(console.err, "{}\n", failure.what());
    return failure.status();
  }
  if (options.list) {
    list(benches, console);
    return ExitStatus::done;
  }
  for (const std::string& note : benches.front().notes) fmt::print(console.err, "{}\n", note);
  const fs::path out = output_file(options);
  std::error_code ignored;
  if (out.has_parent_path()) fs::create_directories(out.parent_path(), ignored);
  const FileLock lock(out);
  prepare_file(out, options, benches);

  const std::set<std::string> wanted = names_of(benches);
  const std::size_t widest = std::ranges::max_element(wanted, {}, &std::string::size)->size();
  Progress progress(wanted.size() - std::min(wanted.size(), read_rows(out).size()), widest, console);
  BenchRunner runner(options, out, progress, console);
  for (const Bench& bench : benches) runner.run(bench);
  progress.clear();
  const bool complete = summarize(runner, wanted, options, console);
  fmt::print(console.out, "Rows: {}   samples: {}   log: {}\n", out.string(), samples_path(out).string(),
             runner.log().string());
  if (!complete && stop_asked()) {
    fmt::print(console.err, "interrupted; to go on: {}\n", resuming_command(options, out));
  }
  return complete ? ExitStatus::done : ExitStatus::no_verdict;
}

ExitStatus run(const RunOptions& options, Console& console) {
  if (options.resume && options.out.empty()) {
    throw InputError("--resume needs the file to go on with: --out FILE.csv");
  }
  const std::string reason = why_no_gpu();
  if (reason.empty()) return measure(options, console);
  fmt::print(console.err, "nothing is measured: {}\n", reason);
  if (options.require_gpu) return ExitStatus::no_verdict;
  if (options.list) return list_recorded_cases(options.filter, console);
  if (!options.out.empty() || !options.benches.empty()) {
    fmt::print(console.err, "{} is not written\n", output_file(options).string());
    return ExitStatus::no_verdict;
  }
  return show_recorded_rows(options.filter, console);
}

/// What is measured of a case beside its times and the suite's counters, and in what order cases run.
void declare_depth(CLI::App& parser, RunOptions& options) {
  parser
      .add_option("--metrics", options.metrics,
                  "more hardware metrics, separated by commas: a column each, and their samples")
      ->delimiter(',')
      ->type_name("NAME,NAME");
  parser.add_option("--timeline", options.timeline, "write occupancy over time there, a file a case")
      ->type_name("FOLDER");
  parser
      .add_option("--per-sm", options.per_sm,
                  "write what each SM did there, a file a case that can be traced")
      ->type_name("FOLDER");
  parser.add_option("--shuffle", options.shuffle, "cases of an experiment in random order, with this seed")
      ->type_name("SEED");
}

}  // namespace

Action declare_run(CLI::App& parser) {
  const auto options = std::make_shared<RunOptions>();
  parser.add_option("--suite", options->suite, "smoke, quick or full")
      ->check(CLI::IsMember({"smoke", "quick", "full"}))
      ->capture_default_str();
  parser
      .add_option("--filter", options->filter,
                  "only cases whose experiment/case this regular expression is found in")
      ->type_name("RE");
  parser.add_flag("--list", options->list, "print the cases and end");
  parser
      .add_option("--device", options->device, "number of the GPU, or auto: the discrete one with most SMs")
      ->capture_default_str();
  parser
      .add_option("--counters", options->counters,
                  "auto, off, or require: status 2 where they cannot be read")
      ->check(CLI::IsMember({"auto", "off", "require"}))
      ->capture_default_str();
  parser
      .add_option(
          "--profile", options->profile,
          "device profile to predict with, a built-in one or a file of `occbench calibrate` (default: the "
          "built-in one of such a GPU)")
      ->type_name("NAME|FILE");
  declare_depth(parser, *options);
  parser.add_option("--benches", options->benches, "folder of the bench binaries (default: beside occbench)")
      ->type_name("FOLDER");
  parser.add_flag("--require-gpu", options->require_gpu, "end with status 2 where there is no GPU");
  parser
      .add_option("--out", options->out,
                  "rows go here, samples beside it (default: a new file in results/local/)")
      ->type_name("FILE.csv");
  parser.add_flag("--resume", options->resume, "keep the rows of --out and run what is missing");
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace occbench
