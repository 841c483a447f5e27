#include "cli/bench_runner.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include <fmt/ostream.h>

#include "cli/progress_pipe.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/progress_lines.hpp"
#include "record/provenance.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// The line with what is left is shown again as often.
constexpr std::chrono::milliseconds kRefresh{250};

/// Of a binary, which alone knows whether the GPU has a metric that was asked for.
constexpr Ending kWrongUse{.status = static_cast<int>(ExitStatus::usage)};
constexpr Ending kSomethingMissed{.status = static_cast<int>(ExitStatus::no_verdict)};

std::string last_lines(const fs::path& file) {
  constexpr std::size_t kCharacters = 1500;
  const std::string text = read_text(file);
  return text.substr(text.size() - std::min(text.size(), kCharacters));
}

}  // namespace

BenchRunner::BenchRunner(const RunOptions& options, fs::path out, Progress& progress, Console& console)
    : options_(options),
      out_(std::move(out)),
      progress_(progress),
      console_(console),
      cases_(read_case_records(out_)) {
  for (const CaseRecord& each : cases_) reported_.insert(full_name(each.identity));
}

fs::path BenchRunner::log() const {
  return out_.string() + ".log";
}

void BenchRunner::run(const Bench& bench) {
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

bool BenchRunner::has(const CaseRecord& wanted) const {
  return std::ranges::any_of(
      cases_, [&](const CaseRecord& each) { return full_name(each.identity) == full_name(wanted.identity); });
}

bool BenchRunner::is_complete(const Bench& bench) const {
  return std::ranges::all_of(bench.cases, [&](const CaseRecord& wanted) { return has(wanted); });
}

Ending BenchRunner::run_process(const Bench& bench) {
  ProgressPipe pipe;
  std::vector<std::string> arguments = common_arguments(options_);
  arguments.push_back("--occ_csv=" + out_.string());
  arguments.emplace_back("--occ_resume");
  arguments.push_back(fmt::format("--occ_progress_fd={}", pipe.write_end()));
  arguments.emplace_back("--benchmark_color=false");
  if (!bench.filter.empty()) arguments.push_back("--benchmark_filter=" + bench.filter);
  running_.clear();
  ChildProcess process(bench.program, arguments, log(), pipe.write_end());
  pipe.close_write_end();
  bool told = false;
  while (!pipe.ended()) {
    for (const std::string& line : pipe.lines(kRefresh)) hear(line);
    if (stop_asked() && !std::exchange(told, true)) process.terminate();
    progress_.show(bench.cases.front().identity.experiment);
  }
  const Ending ending = process.wait_or_stop();
  read_file();
  return ending;
}

void BenchRunner::hear(const std::string& line) {
  try {
    const CaseProgress progress = parse_progress_line(line);
    if (const auto* begun = std::get_if<CaseBegun>(&progress)) {
      running_ = begun->name;
      return;
    }
    running_.clear();
    const CaseRecord record = case_record(std::get<CaseEnded>(progress).row);
    if (reported_.insert(full_name(record.identity)).second) progress_.add(record);
  } catch (const InputError&) {
    // What no occbench wrote. The row is in the file, and is shown when the process has ended.
  }
}

void BenchRunner::read_file() {
  cases_ = read_case_records(out_);
  for (const CaseRecord& each : cases_) {
    if (reported_.insert(full_name(each.identity)).second) progress_.add(each);
  }
}

/// The binary told which case had begun when it died.
void BenchRunner::record_crash(const Bench& bench, Ending ending) {
  const auto crashed = std::ranges::find(
      bench.cases, running_, [](const CaseRecord& each) -> const auto& { return each.identity.name; });
  // It may have died between writing the row and telling of it.
  if (crashed == bench.cases.end() || has(*crashed)) return;
  CaseRecord record = *crashed;
  record.provenance.recorded_at = iso_time(std::chrono::system_clock::now());
  record.times.status = TimeStatus::failed;
  record.note = fmt::format("the process ended with {} while this case ran", to_string(ending));
  RunFile(out_, RunFile::Mode::resume, options_.metrics).append(row_of(record), {});
  read_file();
}

}  // namespace occbench
