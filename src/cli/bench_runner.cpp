#include "cli/bench_runner.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/json.hpp"
#include "record/provenance.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPollInterval{50};

/// Of a binary, which alone knows whether the GPU has a metric that was asked for.
constexpr Ending kWrongUse{.status = static_cast<int>(ExitStatus::usage)};
constexpr Ending kSomethingMissed{.status = static_cast<int>(ExitStatus::no_verdict)};

std::vector<fs::path> bench_programs(const fs::path& asked_for) {
  const fs::path folder = asked_for.empty() ? fs::read_symlink("/proc/self/exe").parent_path() : asked_for;
  std::error_code error;
  std::vector<fs::path> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("bench_")) programs.push_back(entry.path());
  }
  std::ranges::sort(programs);
  if (programs.empty()) {
    throw InputError(
        fmt::format("there are no bench binaries in {}: build them (cmake --build --preset release), or say "
                    "where they are with --benches",
                    folder.string()));
  }
  return programs;
}

/// What a binary is told when it lists its cases too, so that a wrong value is refused before a file is
/// touched.
std::vector<std::string> common_arguments(const RunOptions& options) {
  std::vector<std::string> arguments = {"--occ_suite=" + options.suite, "--occ_device=" + options.device,
                                        "--occ_counters=" + options.counters};
  const auto pass_on = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) arguments.push_back(fmt::format("--occ_{}={}", flag, value));
  };
  pass_on("device_profile", options.profile);
  pass_on("metrics", fmt::format("{}", fmt::join(options.metrics, ",")));
  pass_on("timeline", options.timeline);
  pass_on("per_sm", options.per_sm);
  pass_on("shuffle", options.shuffle);
  return arguments;
}

/// In quotes where a shell could take it for something else.
std::string for_shell(const std::string& text) {
  const auto is_plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./=,:+").find(letter) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string last_lines(const fs::path& file) {
  constexpr std::size_t kCharacters = 1500;
  const std::string text = text_of(file);
  return text.substr(text.size() - std::min(text.size(), kCharacters));
}

}  // namespace

/// Asks every binary at once which cases it has: each has to start CUDA, which takes longer than the answer.
std::vector<Bench> planned_benches(const RunOptions& options) {
  const std::vector<fs::path> programs = bench_programs(options.benches);
  std::vector<std::string> arguments = common_arguments(options);
  arguments.emplace_back("--occ_list");
  const TemporaryFolder answers;
  const auto answer_of = [&](std::size_t program) { return answers.path() / std::to_string(program); };
  std::vector<std::unique_ptr<ChildProcess>> processes;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    processes.push_back(std::make_unique<ChildProcess>(programs[i], arguments, answer_of(i)));
  }
  const auto matches = case_filter(options.filter);
  std::vector<Bench> benches;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Ending ending = processes[i]->wait();
    const std::string answer = text_of(answer_of(i));
    if (ending == kWrongUse) throw InputError(answer);
    if (ending != Ending{}) {
      const bool cannot_measure =
          ending.signal == 0 && ending.status == static_cast<int>(ExitStatus::no_verdict);
      throw CannotList(
          cannot_measure ? ExitStatus::no_verdict : ExitStatus::fault,
          fmt::format("{} cannot list its cases ({}):\n{}", programs[i].string(), to_string(ending), answer));
    }
    Bench bench{programs[i], {}, {}};
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('{')) {
        bench.notes.push_back(line);
        continue;
      }
      Row row = row_from_json(parse_json(line, programs[i].string()));
      if (matches(full_name(row))) bench.cases.push_back(std::move(row));
    }
    if (!bench.cases.empty()) benches.push_back(std::move(bench));
  }
  if (benches.empty()) {
    throw InputError(
        fmt::format("--filter {} matches no case of the suite {}; occbench run --list shows them",
                    options.filter, options.suite));
  }
  return benches;
}

std::string resuming_command(const RunOptions& options, const fs::path& out) {
  const RunOptions usual;
  std::string command = "occbench run";
  const auto add = [&](std::string_view flag, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) command += fmt::format(" {} {}", flag, for_shell(value));
  };
  add("--suite", options.suite, "");
  add("--filter", options.filter, usual.filter);
  add("--device", options.device, usual.device);
  add("--counters", options.counters, usual.counters);
  add("--profile", options.profile, usual.profile);
  add("--metrics", fmt::format("{}", fmt::join(options.metrics, ",")), "");
  add("--timeline", options.timeline, usual.timeline);
  add("--per-sm", options.per_sm, usual.per_sm);
  add("--shuffle", options.shuffle, usual.shuffle);
  add("--benches", options.benches.string(), "");
  add("--out", out.string(), "");
  return command + " --resume";
}

BenchRunner::BenchRunner(const RunOptions& options, fs::path out, Progress& progress, Console& console)
    : options_(options),
      out_(std::move(out)),
      progress_(progress),
      console_(console),
      rows_(read_rows(out_)) {}

fs::path BenchRunner::log() const {
  return out_.string() + ".log";
}

void BenchRunner::run(const Bench& bench) {
  while (!is_complete(bench) && !stop_asked()) {
    const std::size_t before = rows_.size();
    const Ending ending = run_process(bench);
    if (ending == kWrongUse) throw InputError(last_lines(log()));
    if (ending == kSomethingMissed) something_missed_ = true;
    if (ending.signal != 0 || ending.status >= static_cast<int>(ExitStatus::fault))
      record_crash(bench, ending);
    if (is_complete(bench) || stop_asked()) return;
    if (rows_.size() == before) {
      progress_.clear();
      fmt::print(console_.err, "{} ended with {} and no new row; the end of its output:\n{}\n",
                 bench.program.filename().string(), to_string(ending), last_lines(log()));
      return;
    }
  }
}

bool BenchRunner::is_complete(const Bench& bench) const {
  return std::ranges::all_of(bench.cases, [&](const Row& wanted) {
    return std::ranges::any_of(rows_, [&](const Row& row) { return full_name(row) == full_name(wanted); });
  });
}

Ending BenchRunner::run_process(const Bench& bench) {
  std::vector<std::string> arguments = common_arguments(options_);
  arguments.push_back("--occ_csv=" + out_.string());
  arguments.emplace_back("--occ_resume");
  arguments.emplace_back("--benchmark_color=false");
  if (!options_.filter.empty()) arguments.push_back("--benchmark_filter=" + options_.filter);
  ChildProcess process(bench.program, arguments, log());
  std::optional<Ending> ending;
  bool told = false;
  while (!(ending = process.poll())) {
    std::this_thread::sleep_for(kPollInterval);
    if (stop_asked() && !std::exchange(told, true)) process.terminate();
    report_new_rows();
    progress_.show(bench.cases.front().experiment);
  }
  report_new_rows();
  return *ending;
}

void BenchRunner::report_new_rows() {
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(out_, ignored);
  if (size == size_) return;
  size_ = size;
  const std::vector<Row> rows = read_rows(out_);
  for (std::size_t i = rows_.size(); i < rows.size(); ++i) progress_.add(rows[i]);
  rows_ = rows;
}

/// The binary left a mark which case it was running when it died.
void BenchRunner::record_crash(const Bench& bench, Ending ending) {
  const fs::path mark = out_.string() + ".running";
  std::string name;
  std::getline(std::ifstream(mark) >> std::ws, name);
  std::error_code ignored;
  fs::remove(mark, ignored);
  const auto crashed = std::ranges::find(bench.cases, name, &Row::case_);
  if (crashed == bench.cases.end()) return;
  Row row = *crashed;
  row.recorded_at = iso_time(std::chrono::system_clock::now());
  row.time_status = "failed";
  row.note = fmt::format("the process ended with {} while this case ran", to_string(ending));
  RunFile(out_, RunFile::Mode::resume, options_.metrics).append(row, {});
  report_new_rows();
}

}  // namespace occbench
