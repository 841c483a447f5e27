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
    for (const Row& row : bench.cases) fmt::print(console.out, "{}\n", full_name(row));
  }
}

/// The rows of the cases that this run wanted; a file that is resumed may have others.
std::vector<Row> wanted_rows(const BenchRunner& runner, std::span<const Bench> benches) {
  std::set<std::string> wanted;
  for (const Bench& bench : benches) {
    for (const Row& row : bench.cases) wanted.insert(full_name(row));
  }
  std::vector<Row> rows = runner.rows();
  std::erase_if(rows, [&](const Row& row) { return !wanted.contains(full_name(row)); });
  return rows;
}

/// The file that the binaries then resume, one after another.
void prepare_file(const fs::path& out, const RunOptions& options, std::span<const Bench> benches) {
  const RunFile file(out, options.resume ? RunFile::Mode::resume : RunFile::Mode::create, options.metrics);
  for (const Bench& bench : benches) file.require_same_origin(bench.cases.front());
}

/// What is not as it should be, in one line each; whether anything that was asked for was not measured.
bool summarize(const BenchRunner& runner, std::span<const Bench> benches, const RunOptions& options,
               Console& console) {
  const std::vector<Row> rows = wanted_rows(runner, benches);
  const auto count = [&](auto predicate) { return std::ranges::count_if(rows, predicate); };
  const auto failed = count([](const Row& row) { return row.time_status == "failed"; });
  const auto wrong = count([](const Row& row) { return row.check == "wrong"; });
  const auto unstable = count([](const Row& row) { return row.time_status == "unstable"; });
  const auto skipped = count([](const Row& row) { return row.time_status == "skipped"; });
  const auto uncounted = count([](const Row& row) {
    return row.counters_status != "ok" && (row.time_status == "ok" || row.time_status == "unstable");
  });
  std::size_t wanted = 0;
  for (const Bench& bench : benches) wanted += bench.cases.size();

  fmt::print(console.out,
             "\n{} of {} cases: {} failed, {} with a wrong result, {} skipped, {} unstable, {} without "
             "counters. {}\n",
             rows.size(), wanted, failed, wrong, skipped, unstable, uncounted, agreement(rows));
  if (uncounted > 0) {
    const auto first = std::ranges::find_if(
        rows, [](const Row& row) { return !row.counters_status.empty() && row.counters_status != "ok"; });
    if (first != rows.end() && !first->note.empty()) fmt::print(console.err, "counters: {}\n", first->note);
  }
  const bool counters_missing = options.counters == "require" && uncounted > 0;
  const bool whole = failed == 0 && wrong == 0 && rows.size() >= wanted && !counters_missing;
  if (whole && runner.something_missed()) {
    fmt::print(console.err, "not all that was asked for was measured: the rows' column note says why\n");
  }
  return whole && !runner.something_missed();
}

ExitStatus measure(const RunOptions& options, Console& console) {
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
  stop_on_signals();

  std::size_t total = 0;
  std::size_t widest_name = 0;
  for (const Bench& bench : benches) {
    total += bench.cases.size();
    for (const Row& row : bench.cases) widest_name = std::max(widest_name, full_name(row).size());
  }
  total -= std::min(total, read_rows(out).size());
  Progress progress(total, widest_name, console);
  BenchRunner runner(options, out, progress, console);
  for (const Bench& bench : benches) runner.run(bench);
  progress.clear();
  const bool complete = summarize(runner, benches, options, console);
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
  parser
      .add_option("--metrics", options->metrics,
                  "more hardware metrics, separated by commas: a column each, and their samples")
      ->delimiter(',')
      ->type_name("NAME,NAME");
  parser.add_option("--timeline", options->timeline, "write occupancy over time there, a file a case")
      ->type_name("FOLDER");
  parser
      .add_option("--per-sm", options->per_sm,
                  "write what each SM did there, a file a case that can be traced")
      ->type_name("FOLDER");
  parser.add_option("--shuffle", options->shuffle, "cases of an experiment in random order, with this seed")
      ->type_name("SEED");
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
