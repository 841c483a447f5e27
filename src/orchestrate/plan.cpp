#include "orchestrate/plan.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "files/input.hpp"
#include "files/output.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/waiting.hpp"
#include "predict/parallel.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// The program that has all experiments of the suite (bench/CMakeLists.txt).
constexpr const char* kSuiteProgram = "bench_all";

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// Limit of a list's simulations, by the estimate of simulation_microseconds(), so that it is the same on every
/// machine.
constexpr double kMostOfList = 50e6;

/// A prediction takes this many times the simulations for its figure, because others are for its interval and losses.
/// Half of 160 launches of seven kinds of work, with a generic and a built-in profile, took 2.1 to 4.7 times as long.
constexpr double kOfPrediction = 3;

/// Empty if nothing can be predicted.
std::optional<double> prediction_microseconds(const CaseRecord& record, const ChosenProfile& profile) {
  const auto& capability = record.provenance.compute_capability;
  const Limits* const limits = capability ? find_limits(*capability) : nullptr;
  if (!limits || !record.identity.work || !record.launch || !record.compiled || record.times.status)
    return {};
  const Tasks tasks(*record.identity.work, record.launch->grid_blocks,
                    warps_of_block(record.launch->block_threads));
  const std::int64_t runs = runs_of(tasks, chance_of(profile, *limits, tasks));
  return kOfPrediction * static_cast<double>(runs) * simulation_microseconds(*limits, tasks);
}

/// A program's answer to --occ_list: a file of rows, and its output.
Bench bench_from(const fs::path& program, Ending ending, const fs::path& rows, const std::string& printed) {
  if (stop_asked()) throw CannotList(ExitStatus::no_verdict, "interrupted");
  if (ending == Ending{.status = static_cast<int>(ExitStatus::usage)})
    throw InputError(without_line_end(printed));
  if (ending != Ending{}) {
    const bool cannot_measure = ending == Ending{.status = static_cast<int>(ExitStatus::no_verdict)};
    throw CannotList(
        cannot_measure ? ExitStatus::no_verdict : ExitStatus::fault,
        fmt::format("{} cannot list its cases ({}):\n{}", program.string(), to_string(ending), printed));
  }
  Bench bench{program, mapped(read_rows(rows), case_record), {}};
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) bench.notes.push_back(line);
  return bench;
}

/// Approximate time of a case beside its launches: the mean of 799 cases on an H200.
constexpr double kSecondsOfCase = 0.13;
/// Launches of a case: checked, timed and counted.
constexpr double kLaunchesOfCase = 45;
constexpr double kCyclesPerSecond = 1.7e9;

/// The kernels that a program describes in a line of its answer to --occ_describe.
void add_kernels(const fs::path& program, std::string_view line, std::vector<SweptKernel>& kernels) {
  if (!line.starts_with('{')) return;
  const Json described = parse_json(line, program.string());
  if (!described.contains("families")) return;
  for (const auto& family : described.at("families")) {
    SweptKernel kernel{program, family.at("name"), family.at("description"), {}};
    for (const auto& axis : family.at("axes"))
      kernel.axes.push_back({axis.at("name"), axis.at("meaning"), axis.at("values")});
    kernels.push_back(std::move(kernel));
  }
}

}  // namespace

fs::path programs_folder(const fs::path& asked_for) {
  return asked_for.empty() ? fs::read_symlink("/proc/self/exe").parent_path() : asked_for;
}

std::vector<fs::path> bench_programs(const fs::path& asked_for) {
  const fs::path folder = programs_folder(asked_for);
  std::error_code error;
  std::vector<fs::path> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("bench_")) programs.push_back(entry.path());
  }
  // The suite comes first, so that its links are left out.
  std::ranges::sort(programs, {}, [](const fs::path& program) {
    return std::pair(program.filename() != kSuiteProgram, program);
  });
  std::set<fs::path> files;
  std::erase_if(programs, [&](const fs::path& program) {
    return !files.insert(fs::weakly_canonical(program, error)).second;
  });
  return programs;
}

std::vector<std::string> common_arguments(const RunOptions& options) {
  std::vector<std::string> arguments = {"--occ_suite=" + options.suite, "--occ_device=" + options.device,
                                        "--occ_counters=" + options.counters};
  if (!options.metrics.empty())
    arguments.push_back(fmt::format("--occ_metrics={}", fmt::join(options.metrics, ",")));
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  return arguments;
}

/// Asks every program at once, because each has to start CUDA, which takes longer than the answer.
std::vector<Bench> planned_benches(const RunOptions& options) {
  const std::vector<fs::path> programs =
      options.programs.empty() ? bench_programs(options.benches) : options.programs;
  if (programs.empty()) {
    throw InputError(
        "there are no bench programs in {}: they are part of builds with CUDA, which scripts/run makes where "
        "there is a GPU, "
        "and not of the wheel; --benches says where they are",
        programs_folder(options.benches).string());
  }
  const TemporaryFolder answers;
  const auto rows_of = [&](std::size_t i) { return answers.path() / fmt::format("{}.csv", i); };
  const auto log_of = [&](std::size_t i) { return answers.path() / fmt::format("{}.log", i); };
  std::vector<std::unique_ptr<ChildProcess>> processes;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::vector<std::string> arguments = common_arguments(options);
    arguments.push_back("--occ_list=" + rows_of(i).string());
    processes.push_back(std::make_unique<ChildProcess>(
        ProgramStart{.program = programs[i], .arguments = arguments, .output = log_of(i)}));
  }
  std::vector<Bench> benches;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Ending ending = processes[i]->wait_or_stop();
    benches.push_back(bench_from(programs[i], ending, rows_of(i), read_text(log_of(i))));
  }
  const auto matches = case_filter(options.filter);
  std::set<std::string> names;
  for (Bench& bench : benches)
    std::erase_if(bench.cases, [&](const CaseRecord& each) {
      const std::string name = full_name(each.identity);
      return !matches(name) || !names.insert(name).second;
    });
  std::erase_if(benches, [](const Bench& bench) { return bench.cases.empty(); });
  if (benches.empty()) {
    throw InputError("--filter {} matches no case of the suite {}; occbench run --list shows them",
                     options.filter, options.suite);
  }
  return benches;
}

double expected_seconds(const CaseRecord& record) {
  if (record.times.status && record.times.status != TimeStatus::ok) return 0;
  double cycles = 0;
  if (record.identity.work && record.theory && record.theory->waves)
    cycles = record.identity.work->cycles * std::ceil(*record.theory->waves);
  return kSecondsOfCase + kLaunchesOfCase * cycles / kCyclesPerSecond;
}

fs::path sweep_program(const fs::path& folder) {
  const fs::path program = programs_folder(folder) / "sweep";
  std::error_code error;
  if (fs::exists(program, error)) return program;
  throw InputError(
      "there is no {}: it is part of builds with CUDA, which `CUDAARCHS=90 scripts/run` makes without "
      "a GPU too; --benches says where it is",
      program.string());
}

std::vector<SweptKernel> swept_kernels(const fs::path& folder) {
  std::vector<fs::path> programs = bench_programs(folder);
  std::error_code error;
  const fs::path sweep = programs_folder(folder) / "sweep";
  if (fs::exists(sweep, error) || programs.empty()) programs.insert(programs.begin(), sweep_program(folder));
  std::vector<SweptKernel> kernels;
  for (const fs::path& program : programs) {
    run_and_read({.program = program, .arguments = {"--occ_describe"}},
                 [&](std::string_view line) { add_kernels(program, line, kernels); });
  }
  return kernels;
}

const SweptKernel& find_kernel(const std::vector<SweptKernel>& kernels, const std::string& name) {
  const auto found = std::ranges::find(kernels, name, &SweptKernel::name);
  if (found != kernels.end()) return *found;
  throw InputError("there is no kernel {} to sweep; the nearest are {}", name,
                   fmt::join(nearest_names(name, mapped(kernels, &SweptKernel::name), 3), ", "));
}

void predict_listed(std::vector<CaseRecord>& cases, const std::optional<DeviceProfile>& given,
                    std::ostream& err) {
  const ChosenProfile profile =
      given ? chosen(*given, identity_of(cases.front().provenance)) : profile_of(cases.front());
  std::vector<CaseRecord*> affordable;
  std::size_t without = 0;
  double left = kMostOfList;
  for (CaseRecord& each : cases) {
    const std::optional<double> needed = prediction_microseconds(each, profile);
    if (!needed) continue;
    if (*needed > left) {
      ++without;
      continue;
    }
    left -= *needed;
    affordable.push_back(&each);
  }
  if (without > 0)
    fmt::print(
        err,
        "{} of {} cases are listed without a prediction: a list simulates no more than {:.0f} s of one "
        "core, by estimate\n",
        without, cases.size(), kMostOfList / 1e6);
  Waiting waiting("predicting cases:", affordable.size());
  for_each_parallel(affordable.size(), [&](std::size_t i) {
    if (stop_asked()) throw CannotList(ExitStatus::no_verdict, "interrupted");
    try {
      repredict(*affordable[i], profile.profile);
    } catch (const InputError&) {  // it stays without
    }
    waiting.step();
  });
}

}  // namespace occbench
