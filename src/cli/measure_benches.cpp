#include "cli/measure_benches.hpp"

#include <algorithm>
#include <ostream>
#include <set>
#include <span>

#include <fmt/ostream.h>

#include "cli/bench_runner.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/row_table.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_of(std::span<const Bench> benches) {
  std::set<std::string> names;
  for (const Bench& bench : benches) {
    for (const CaseRecord& each : bench.cases) names.insert(full_name(each.identity));
  }
  return names;
}

/// The file that the binaries then resume, one after another.
void prepare_file(const fs::path& out, const RunOptions& options, std::span<const Bench> benches,
                  Console& console) {
  if (!options.resume) keep_older_rows(out, console);
  const RunFile file(out, options.resume ? RunFile::Mode::resume : RunFile::Mode::create, options.metrics);
  for (const Bench& bench : benches) file.require_same_origin(row_of(bench.cases.front()));
}

/// Of those wanted, how many have no row yet: a file that is resumed may have rows of others.
std::size_t missing_cases(std::set<std::string> wanted, const fs::path& out) {
  for (const CaseRecord& each : read_case_records(out)) wanted.erase(full_name(each.identity));
  return wanted.size();
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

}  // namespace

ExitStatus measure_benches(const RunOptions& options, std::vector<Bench> benches, const fs::path& out,
                           const std::string& resuming, Console& console) {
  for (const std::string& note : benches.front().notes) fmt::print(console.err, "{}\n", note);
  std::error_code ignored;
  if (out.has_parent_path()) fs::create_directories(out.parent_path(), ignored);
  const FileLock lock(out);
  prepare_file(out, options, benches, console);

  const std::set<std::string> wanted = names_of(benches);
  const std::size_t widest = std::ranges::max_element(wanted, {}, &std::string::size)->size();
  Progress progress(missing_cases(wanted, out), widest, console);
  BenchRunner runner(options, out, progress, console);
  for (const Bench& bench : benches) runner.run(bench);
  progress.clear();
  const bool complete = summarize(runner, wanted, options, console);
  fmt::print(console.out, "Rows: {}   samples: {}   log: {}\n", out.string(), samples_path(out).string(),
             runner.log().string());
  if (!complete && stop_asked()) {
    fmt::print(console.err, "interrupted; to go on: {}\n", resuming);
  }
  return complete ? ExitStatus::done : ExitStatus::no_verdict;
}

}  // namespace occbench
