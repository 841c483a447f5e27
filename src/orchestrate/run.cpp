#include "orchestrate/run.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <unistd.h>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "files/input.hpp"
#include "files/lock.hpp"
#include "files/output.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/progress.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/progress_lines.hpp"
#include "record/provenance.hpp"
#include "record/race.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

/// Interval at which the line with the remaining time is shown again.
constexpr std::chrono::milliseconds kRefresh{250};

/// Status of a program, which alone knows whether the GPU has a requested metric.
constexpr Ending kWrongUse{.status = static_cast<int>(ExitStatus::usage)};
constexpr Ending kSomethingMissed{.status = static_cast<int>(ExitStatus::no_verdict)};

std::string last_lines(const fs::path& file) {
  constexpr std::size_t kCharacters = 1500;
  const std::string text = read_text(file);
  return text.substr(text.size() - std::min(text.size(), kCharacters));
}

/// The rows of a file that another process appends to, each returned once.
class GrowingRows {
 public:
  explicit GrowingRows(fs::path file) : file_(std::move(file)) {}

  /// The complete rows that were not taken yet. @throws InputError if the file is not of rows
  std::vector<CaseRecord> take() {
    std::ifstream stream(file_, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(taken_));
    const std::string grown{std::istreambuf_iterator<char>(stream), {}};
    const CsvTable table = parse_row_table(header_ + grown, file_.string());
    taken_ += table.whole_bytes - std::min(table.whole_bytes, header_.size());
    if (header_.empty()) header_ = csv_record(table.names);
    return mapped(rows_of(table, file_.string()), case_record);
  }

 private:
  fs::path file_;
  std::string header_;
  std::size_t taken_ = 0;  ///< bytes of the file
};

/// Runs the programs and tracks the rows of their file.
class Runner {
 public:
  /// @param out  an existing file of rows; cases that it has are not run
  Runner(const RunOptions& options, fs::path out, Progress& progress, Console& console)
      : options_(options),
        out_(std::move(out)),
        progress_(progress),
        console_(console),
        rows_(out_),
        cases_(rows_.take()),
        finished_(names_of(cases_)) {}

  void run(const Bench& bench) {
    while (!is_complete(bench) && !stop_asked()) {
      const std::size_t before = cases_.size();
      const Ending ending = run_process(bench);
      if (ending == kWrongUse) throw InputError(last_lines(log()));
      if (ending == kSomethingMissed) something_missed_ = true;
      if (ending.signal != 0 || ending.status >= static_cast<int>(ExitStatus::fault))
        record_crash(bench, ending);
      if (is_complete(bench) || stop_asked()) return;
      if (cases_.size() == before) {
        progress_.clear();
        fmt::print(console_.err, "{} ended with {} and no new row; the end of its output:\n{}\n",
                   bench.program.filename().string(), to_string(ending), last_lines(log()));
        return;
      }
    }
  }

  /// Whether a program reported that something requested was not measured, even a timeline.
  bool something_missed() const {
    return something_missed_;
  }

  /// The cases in the file, finished before or now.
  const std::vector<CaseRecord>& cases() const {
    return cases_;
  }

  fs::path log() const {
    return log_of(out_);
  }

 private:
  bool is_complete(const Bench& bench) const {
    return std::ranges::all_of(bench.cases, [&](const CaseRecord& wanted) {
      return finished_.contains(full_name(wanted.identity));
    });
  }

  Ending run_process(const Bench& bench) {
    const TemporaryFolder folder;
    const fs::path names = folder.path() / "cases.txt";
    replace_text(names, fmt::format("{}\n", fmt::join(names_of(bench.cases), "\n")));
    LinePipe pipe;
    std::vector<std::string> arguments = common_arguments(options_);
    arguments.insert(arguments.end(),
                     {"--occ_csv=" + out_.string(), "--occ_resume", "--occ_cases=" + names.string(),
                      fmt::format("--occ_progress_fd={}", pipe.write_end()), "--benchmark_color=false"});
    running_.clear();
    ChildProcess process(ProgramStart{.program = bench.program,
                                      .arguments = std::move(arguments),
                                      .output = log(),
                                      .inherited = pipe.write_end()});
    pipe.close_write_end();
    bool told = false;
    while (!pipe.ended()) {
      for (const std::string& line : pipe.lines(kRefresh)) hear(line);
      if (stop_asked() && !std::exchange(told, true)) process.terminate();
      progress_.show(running_.substr(0, running_.find('/')));
    }
    const Ending ending = process.wait_or_stop();
    take_rows();
    return ending;
  }

  void hear(const std::string& line) {
    const std::optional<CaseProgress> progress = parse_progress_line(line);
    if (!progress) return;  // not a line of occbench
    running_ = progress->ended ? "" : progress->full_name;
    if (progress->ended) take_rows();
  }

  void take_rows() {
    for (CaseRecord& each : rows_.take()) {
      finished_.insert(full_name(each.identity));
      progress_.add(each);
      cases_.push_back(std::move(each));
    }
  }

  /// The program reported which case had begun when it died.
  void record_crash(const Bench& bench, Ending ending) {
    const auto crashed = std::ranges::find(bench.cases, running_,
                                           [](const CaseRecord& each) { return full_name(each.identity); });
    // It may have died between writing the row and reporting it.
    if (crashed == bench.cases.end() || finished_.contains(running_)) return;
    CaseRecord record = *crashed;
    record.provenance.recorded_at = iso_time(std::chrono::system_clock::now());
    record.times.status = TimeStatus::failed;
    record.note = fmt::format("the process ended with {} while this case ran", to_string(ending));
    RunFile(out_, RunFile::Mode::resume, options_.metrics).append(row_of(record), {});
    take_rows();
  }

  const RunOptions& options_;
  fs::path out_;
  Progress& progress_;
  Console& console_;
  GrowingRows rows_;
  std::vector<CaseRecord> cases_;
  std::set<std::string> finished_;  ///< full names of `cases_`
  std::string running_;             ///< the case that has begun and not ended, empty if none
  bool something_missed_ = false;
};

/// Prepares the file that the programs then resume, one after another.
void prepare_file(const fs::path& out, const RunOptions& options, std::span<const Bench> benches,
                  Console& console) {
  if (!options.resume) keep_older_rows(out, console);
  const RunFile file(out, options.resume ? RunFile::Mode::resume : RunFile::Mode::create, options.metrics);
  for (const Bench& bench : benches) {
    std::set<std::string> experiments;
    for (const CaseRecord& each : bench.cases) {
      if (experiments.insert(each.identity.experiment).second) file.require_same_origin(row_of(each));
    }
  }
}

/// How many of the wanted cases have no row yet. A resumed file may have rows of others.
std::size_t missing_cases(std::set<std::string> wanted, const fs::path& out) {
  for (const CaseRecord& each : read_case_records(out)) wanted.erase(full_name(each.identity));
  return wanted.size();
}

bool has_times(const CaseRecord& record) {
  return record.times.status == TimeStatus::ok || record.times.status == TimeStatus::unstable;
}

/// Whether a race timed the case and had no reason to count it.
bool is_of_race(const CaseRecord& record) {
  const std::optional<RaceOutcome> outcome = race_outcome(record);
  return record.readings.status == CountersStatus::off &&
         (is_ruled_out(outcome) || outcome == RaceOutcome::as_fast || record.check == Check::wrong);
}

/// How many cases of a run have each problem.
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
            return has_times(each) && each.readings.status != CountersStatus::ok && !is_of_race(each);
          })};
}

/// Why counters could not be read, from the first such case.
void print_why_uncounted(std::span<const CaseRecord> cases, Console& console) {
  const auto first = std::ranges::find_if(cases, [](const CaseRecord& each) {
    return each.readings.status && each.readings.status != CountersStatus::ok && !is_of_race(each);
  });
  if (first != cases.end() && !first->note.empty()) fmt::print(console.err, "counters: {}\n", first->note);
}

/// A resumed file may have rows of other cases.
void tell_other_rows(const fs::path& out, std::size_t others, Console& console) {
  if (others > 0)
    fmt::print(console.err, "{} has {} of other cases too\n", out.string(),
               counted(static_cast<long long>(others), "row"));
}

/// Reports problems, one line each. @returns whether everything requested was measured
bool summarize(const Runner& runner, const std::set<std::string>& wanted, const RunOptions& options,
               const fs::path& out, Console& console) {
  std::vector<CaseRecord> cases = runner.cases();
  keep_named(cases, wanted);
  tell_other_rows(out, runner.cases().size() - cases.size(), console);
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

/// Several Slurm nodes can be one machine; then each has a name of its own.
std::string node_name() {
  const std::string node = environment_variable("SLURMD_NODENAME");
  return node.empty() ? host_name() : node;
}

std::vector<CaseRecord> chosen_cases(const RunOptions& options) {
  std::vector<CaseRecord> cases = read_case_records(options.rehearse);
  const auto matches = case_filter(options.filter);
  std::erase_if(cases, [&](const CaseRecord& each) { return !matches(full_name(each.identity)); });
  if (cases.empty()) {
    throw InputError("{} has no case that --filter '{}' matches", options.rehearse, options.filter);
  }
  return cases;
}

Provenance provenance_of(Provenance recorded, const RunOptions& options) {
  const bool chosen = options.device != "auto";
  recorded.commit = build_commit();
  recorded.host = node_name();
  recorded.gpu_uuid = fmt::format("simulated-{}-{}", recorded.host, chosen ? std::stoi(options.device) : 0);
  return recorded;
}

/// The recorded prediction in place of a launch's measurements. The clock is the recorded one.
CaseRecord simulated(const CaseRecord& recorded, const Provenance& provenance) {
  CaseRecord record;
  record.provenance = provenance;
  record.provenance.recorded_at = iso_time(std::chrono::system_clock::now());
  record.identity = recorded.identity;
  record.launch = recorded.launch;
  record.first_gpc = recorded.first_gpc;
  record.compiled = recorded.compiled;
  record.theory = recorded.theory;
  record.prediction = recorded.prediction;
  record.readings.status = CountersStatus::off;
  record.times.status = TimeStatus::simulated;
  record.note = "rehearsed: predicted, not measured";
  if (!record.prediction) return record;
  CounterValues& counters = record.readings.counters;
  record.readings.achieved_source = AchievedSource::simulated;
  record.readings.achieved_elapsed_pct = record.prediction->predicted_elapsed_pct;
  counters.achieved_pct = record.prediction->predicted_pct;
  counters.sm_cycles_active_avg = record.prediction->cycles_active_mean;
  counters.sm_clock_mhz = recorded.readings.counters.sm_clock_mhz;
  if (counters.sm_clock_mhz)
    record.times.time_us = record.prediction->cycles_active_mean / *counters.sm_clock_mhz;
  return record;
}

}  // namespace

fs::path log_of(const fs::path& rows) {
  return rows.string() + ".log";
}

std::set<std::string> names_of(std::span<const CaseRecord> cases) {
  std::set<std::string> names;
  for (const CaseRecord& each : cases) names.insert(full_name(each.identity));
  return names;
}

void keep_named(std::vector<CaseRecord>& cases, const std::set<std::string>& names) {
  std::erase_if(cases, [&](const CaseRecord& each) { return !names.contains(full_name(each.identity)); });
}

fs::path output_file(const std::string& out, const std::string& what) {
  if (out == "-")
    throw InputError(
        "--out -: rows and samples go to files; write --out FILE.csv, and print it when it is there");
  if (!out.empty()) {
    static_cast<void>(output_target(out));
    return out;
  }
  // Runs never replace or wait for each other: ranks of a job begin in the same second, on several hosts.
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fs::path("results") / "local" /
         fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{}-{}.csv", fmt::gmtime(now), host_name(), ::getpid(), what);
}

void keep_older_rows(const fs::path& out, Console& console) {
  // Samples are kept beside their rows, under a corresponding name.
  if (const std::vector<SetAside> kept = set_aside(out); !kept.empty())
    fmt::print(console.err, "{} was there already and is kept as {}; the new file begins empty\n",
               kept.front().file.string(), kept.front().kept_as.string());
}

ExitStatus measure_benches(const RunOptions& options, const std::vector<Bench>& benches, const fs::path& out,
                           const std::string& to_go_on, Console& console) {
  for (const std::string& note : benches.front().notes) fmt::print(console.err, "{}\n", note);
  make_folder_of(out);
  require_log(log_of(out));
  const FileLock lock(out);
  prepare_file(out, options, benches, console);

  std::set<std::string> wanted;
  for (const Bench& bench : benches) wanted.merge(names_of(bench.cases));
  const std::size_t widest = std::ranges::max_element(wanted, {}, &std::string::size)->size();
  Progress progress(missing_cases(wanted, out), widest, console);
  Runner runner(options, out, progress, console);
  for (const Bench& bench : benches) runner.run(bench);
  progress.clear();
  const bool complete = summarize(runner, wanted, options, out, console);
  fmt::print(console.out, "Rows: {}   samples: {}   log: {}\n", out.string(), samples_path(out).string(),
             runner.log().string());
  if (!complete && stop_asked()) fmt::print(console.err, "interrupted; {}\n", to_go_on);
  return complete ? ExitStatus::done : ExitStatus::no_verdict;
}

ToolRun run_tool(const fs::path& program, std::vector<std::string> arguments, const fs::path& rows,
                 Console& console) {
  const StopOnSignals stop;  // first: the folder is removed before a signal ends this process again
  const TemporaryFolder folder;
  const fs::path log = folder.path() / "log.txt";
  const fs::path file = rows.empty() ? folder.path() / "rows.csv" : rows;
  arguments.push_back("--occ_csv=" + file.string());
  const Ending ending =
      ChildProcess(ProgramStart{.program = program, .arguments = std::move(arguments), .output = log})
          .wait_or_stop();
  if (ending == Ending{})
    return {ExitStatus::done, read_case_records(file), read_samples(samples_path(file))};
  if (stop_asked()) {
    fmt::print(console.err, "interrupted\n");
    return {ExitStatus::no_verdict, {}, {}};
  }
  fmt::print(console.err, "the launches could not be measured ({}):\n{}\n", to_string(ending),
             read_text(log));
  return {ending.signal == 0 ? static_cast<ExitStatus>(ending.status) : ExitStatus::no_verdict, {}, {}};
}

ExitStatus rehearse(const RunOptions& options, Console& console) {
  const std::vector<CaseRecord> cases = chosen_cases(options);
  if (options.list) {
    for (const CaseRecord& each : cases) fmt::print(console.out, "{}\n", full_name(each.identity));
    return ExitStatus::done;
  }
  const StopOnSignals stop;
  const fs::path out = output_file(options.out, options.suite);
  const fs::path recorded = options.rehearse;
  require_not_input(out, {&recorded, 1});
  make_folder_of(out);
  const FileLock lock(out);  // before its rows are renamed: a process that writes them would go on there
  if (!options.resume) keep_older_rows(out, console);
  RunFile file(out, options.resume ? RunFile::Mode::resume : RunFile::Mode::create);
  std::set<std::string> finished;
  SimulatedOrMeasured kind;
  kind.add(to_string(TimeStatus::simulated), "this run");
  for (const Row& row : file.finished()) {
    kind.add(row.time_status, out.string());
    finished.insert(full_name(row));
  }
  std::size_t done = 0;
  std::set<std::string> rehearsed;  // a recorded file of several GPUs has a case for each
  for (const CaseRecord& each : cases) {
    const std::string name = full_name(each.identity);
    if (finished.erase(name) == 0 && !rehearsed.contains(name)) {
      if (stop_asked()) continue;
      file.append(row_of(simulated(each, provenance_of(each.provenance, options))), {});
    }
    rehearsed.insert(name);
    ++done;
  }
  tell_other_rows(out, finished.size(), console);
  fmt::print(console.out, "{}\n{} of {} cases. Rows: {}\n", kSimulatedLine, done, cases.size(), out.string());
  return done < cases.size() ? ExitStatus::no_verdict : ExitStatus::done;
}

}  // namespace occbench
