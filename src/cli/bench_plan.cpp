#include "cli/bench_plan.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/child_process.hpp"
#include "cli/shard.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/files.hpp"
#include "record/json.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// What a binary printed when it was asked for its cases: one a line as JSON, and notes.
Bench bench_from(const fs::path& program, Ending ending, const std::string& answer) {
  if (stop_asked()) throw CannotList(ExitStatus::no_verdict, "interrupted");
  if (ending == Ending{.status = static_cast<int>(ExitStatus::usage)})
    throw InputError(without_line_end(answer));
  if (ending != Ending{}) {
    const bool cannot_measure = ending == Ending{.status = static_cast<int>(ExitStatus::no_verdict)};
    throw CannotList(
        cannot_measure ? ExitStatus::no_verdict : ExitStatus::fault,
        fmt::format("{} cannot list its cases ({}):\n{}", program.string(), to_string(ending), answer));
  }
  Bench bench{program, {}, {}, {}, {}};
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('{')) {
      const Row row = row_from_json(parse_json(line, program.string()));
      bench.cases.push_back(case_record(row));
      if (!row.predicted_pct) continue;
      ListedPrediction& predicted = bench.predicted[full_name(bench.cases.back().identity)];
      predicted.pct = *row.predicted_pct;
      if (row.predicted_low_pct && row.predicted_high_pct)
        predicted.range = {*row.predicted_low_pct, *row.predicted_high_pct};
    } else {
      bench.notes.push_back(line);
    }
  }
  return bench;
}

/// Leaves the other shards' cases out, and binaries that then have none.
void keep_shard(std::vector<Bench>& benches, Shard shard) {
  std::vector<CaseRecord> cases;
  for (const Bench& bench : benches) cases.insert(cases.end(), bench.cases.begin(), bench.cases.end());
  const std::set<std::string> names = cases_of_shard(cases, shard);
  for (Bench& bench : benches) {
    std::erase_if(bench.cases,
                  [&](const CaseRecord& each) { return !names.contains(full_name(each.identity)); });
    std::set<std::string> mine;
    for (const CaseRecord& each : bench.cases) mine.insert(full_name(each.identity));
    bench.filter = filter_of_names(mine);
  }
  std::erase_if(benches, [](const Bench& bench) { return bench.cases.empty(); });
}

}  // namespace

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
  arguments.insert(arguments.end(), options.sweep.begin(), options.sweep.end());
  return arguments;
}

/// Asks every binary at once: each has to start CUDA, which takes longer than the answer.
std::vector<Bench> planned_benches(const RunOptions& options) {
  const std::vector<fs::path> programs =
      options.programs.empty() ? bench_programs(options.benches) : options.programs;
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
    const Ending ending = processes[i]->wait_or_stop();
    Bench bench = bench_from(programs[i], ending, read_text(answer_of(i)));
    std::erase_if(bench.cases, [&](const CaseRecord& each) { return !matches(full_name(each.identity)); });
    bench.filter = options.filter;
    if (!bench.cases.empty()) benches.push_back(std::move(bench));
  }
  if (benches.empty()) {
    throw InputError(
        fmt::format("--filter {} matches no case of the suite {}; occbench run --list shows them",
                    options.filter, options.suite));
  }
  if (!options.shard.empty()) keep_shard(benches, parse_shard(options.shard));
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
  add("--shard", options.shard, usual.shard);
  add("--rehearse", options.rehearse, usual.rehearse);
  add("--device", options.device, usual.device);
  add("--counters", options.counters, usual.counters);
  add("--profile", options.profile, usual.profile);
  add("--metrics", fmt::format("{}", fmt::join(options.metrics, ",")), "");
  add("--timeline", options.timeline, usual.timeline);
  add("--per-sm", options.per_sm, usual.per_sm);
  add("--shuffle", options.shuffle, usual.shuffle);
  add("--benches", options.benches.string(), "");
  add("--out", out.string(), "");
  if (options.at_once != usual.at_once) command += options.at_once ? " --at-once" : " --one-after-another";
  return command + " --resume";
}

}  // namespace occbench
