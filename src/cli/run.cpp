#include "orchestrate/run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "cli/gpu_option.hpp"
#include "files/lock.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/occupancy.hpp"
#include "orchestrate/installation.hpp"
#include "orchestrate/plan.hpp"
#include "orchestrate/progress.hpp"
#include "record/case_filter.hpp"
#include "record/replay.hpp"
#include "record/simulated.hpp"

namespace occbench {

namespace {

/// @returns whether theory computed again is what the row records
bool recompute_theory(Theory& theory, const LaunchOnDevice& on) {
  const double recorded_pct = theory.theoretical_pct;
  theory = theory_of(theoretical_occupancy(on), on.launch, on.sm_count);
  return std::abs(recorded_pct - theory.theoretical_pct) < 1e-3;
}

/// Those that the filter matches; empty, and said so, where there are no recorded rows at all.
std::vector<CaseRecord> recorded_cases(const std::string& filter, Console& console) {
  const std::optional<std::filesystem::path> file = recorded_suite();
  if (!file) {
    fmt::print(console.err, "no recorded rows of {} were found near this program or the current folder\n",
               kRecordedModel);
    return {};
  }
  std::vector<CaseRecord> cases = read_case_records(*file);
  const auto matches = case_filter(filter);
  std::erase_if(cases, [&](const CaseRecord& each) { return !matches(full_name(each.identity)); });
  if (cases.empty()) throw InputError("--filter {} matches no recorded case", filter);
  return cases;
}

/// Prints the names of the recorded cases, one a line: which cases there are depends on the GPU's limits and
/// SMs, so that without one they are those of another.
/// @returns no_verdict if no rows are found
ExitStatus list_recorded_cases(const std::string& filter, Console& console) {
  const std::vector<CaseRecord> cases = recorded_cases(filter, console);
  if (cases.empty()) return ExitStatus::no_verdict;
  fmt::print(
      console.err,
      "which cases there are depends on the GPU; these are those of the full suite that was recorded on {}, "
      "whatever --suite says\n",
      cases.front().provenance.gpu);
  for (const CaseRecord& each : cases) fmt::print(console.out, "{}\n", full_name(each.identity));
  return ExitStatus::done;
}

/// Shows the recorded rows that come with the project, theory computed again beside what the counter read.
/// @returns no_verdict if theory no longer agrees with a recorded row, or no rows are found
ExitStatus show_recorded_rows(const std::string& filter, Console& console) {
  std::vector<CaseRecord> cases = recorded_cases(filter, console);
  // What the runtime launches by itself has no theory.
  std::erase_if(
      cases, [](const CaseRecord& each) { return each.times.status == TimeStatus::skipped || !each.theory; });
  if (cases.empty()) return ExitStatus::no_verdict;

  std::size_t widest = 0;
  for (const CaseRecord& each : cases) widest = std::max(widest, full_name(each.identity).size());
  const RowTable table(widest);
  const Provenance& first = cases.front().provenance;
  fmt::print(console.out,
             "The full suite, whatever --suite says, recorded on {} at commit {}, {}; theory computed "
             "again:\n\n{}\n",
             first.gpu, first.commit, first.recorded_at, table.header());
  std::size_t agreeing = 0;
  for (CaseRecord& each : cases) {
    agreeing +=
        in_place(each, [&] { return recompute_theory(*each.theory, launch_on_device(each)); }) ? 1 : 0;
    fmt::print(console.out, "{}\n", table.line(each));
  }
  fmt::print(console.out, "\n{} of {} rows have the theory that was recorded. {}\n", agreeing, cases.size(),
             agreement(cases));
  fmt::print(console.out,
             "`occbench explain` says where the occupancy of these rows went. `occbench calc` and `occbench "
             "predict` answer for a launch of yours.\n");
  return agreeing == cases.size() ? ExitStatus::done : ExitStatus::no_verdict;
}

void list(std::span<const Bench> benches, Console& console) {
  for (const Bench& bench : benches) {
    for (const CaseRecord& each : bench.cases) fmt::print(console.out, "{}\n", full_name(each.identity));
  }
}

ExitStatus measure(const RunOptions& options, const CLI::App& parser, Console& console) {
  const StopOnSignals stop;
  const std::vector<Bench> benches = planned_benches(options);
  if (options.list) {
    list(benches, console);
    return ExitStatus::done;
  }
  const std::filesystem::path out = output_file(options.out, options.suite);
  return measure_benches(options, benches, out, "to go on: " + resuming_command(parser, out), console);
}

/// On one GPU, or in a process for each. A list of cases is that of the first.
ExitStatus run_on_gpus(RunOptions options, const CLI::App& parser, Console& console) {
  std::optional<std::vector<GpuHere>> here;
  if (options.rehearse.empty() && names_several(options.device)) here = gpus_here();
  const std::vector<GpuHere> gpus = listed_gpus(options.device, here);
  if (gpus.size() > 1 && !options.list) {
    const std::string replaced[] = {"--device", "--out", "--timeline", "--per-sm"};
    EachDevice each{.arguments = arguments_of(parser, replaced),
                    .gpus = gpus,
                    .rows = output_file(options.out, options.suite),
                    .merge = merge_gpus,
                    .resume = options.resume};
    for (const char* const folder : {"--timeline", "--per-sm"}) {
      for (const std::string& value : parser.get_option(folder)->results())
        each.outputs.emplace_back(folder, value);
    }
    each.resuming = resuming_command(parser, each.rows);
    return run_on_each(each, console);
  }
  if (!gpus.empty()) options.device = std::to_string(gpus.front().index);
  if (options.rehearse.empty()) return measure(options, parser, console);
  if (options.device != "auto" && !read_number(options.device, 0))
    throw InputError("--device {}: write a number", options.device);
  return rehearse(options, console);
}

ExitStatus run(const RunOptions& options, const CLI::App& parser, Console& console) {
  if (options.resume && options.out.empty()) {
    throw InputError("--resume needs the file to go on with: --out FILE.csv");
  }
  if (!options.rehearse.empty()) {
    if (parser.count("--suite") > 0)
      fmt::print(console.err,
                 "--suite is not used: --rehearse takes all cases of its file that --filter matches\n");
    return run_on_gpus(options, parser, console);
  }
  const std::string reason = why_no_gpu();
  if (reason.empty()) return run_on_gpus(options, parser, console);
  fmt::print(console.err, "nothing is measured: {}\n", reason);
  if (options.require_gpu) return ExitStatus::no_verdict;
  if (options.list) return list_recorded_cases(options.filter, console);
  if (!options.out.empty() || !options.benches.empty()) {
    fmt::print(console.err, "{} is not written\n", output_file(options.out, options.suite).string());
    return ExitStatus::no_verdict;
  }
  return show_recorded_rows(options.filter, console);
}

/// What is measured of a case beside its times and the suite's counters, and in what order cases run.
void declare_depth(CLI::App& parser, RunOptions& options) {
  add_comma_list(parser, "--metrics", options.metrics,
                 "more hardware metrics, separated by commas: a column each, and their samples")
      ->type_name("NAME,NAME");
  pass_on(parser, "--timeline", options.flags, "write occupancy over time there, a file a case")
      ->type_name("FOLDER");
  pass_on(parser, "--per-sm", options.flags, "write what each SM did there, a file a case that can be traced")
      ->type_name("FOLDER");
  pass_on(parser, "--shuffle", options.flags, "cases of an experiment in random order, with this seed")
      ->type_name("SEED");
}

}  // namespace

Action declare_run(CLI::App& parser) {
  const auto options = std::make_shared<RunOptions>();
  parser.add_option("--suite", options->suite, "smoke, quick or full")
      ->check(CLI::IsMember({"smoke", "quick", "full"}))
      ->capture_default_str();
  add_value(parser, "--filter", "RE", options->filter,
            "only cases whose experiment/case this regular expression is found in");
  parser
      .add_option(
          "--rehearse", options->rehearse,
          "measure nothing: write simulated rows of these cases, to try scripts where there is no GPU")
      ->check(CLI::ExistingFile)
      ->type_name("FILE.csv");
  parser.add_flag("--list", options->list, "print the cases and end");
  add_device_option(parser, options->device,
                    "number of the GPU; auto: the discrete one with most SMs; all, or a list such as 0,2: a "
                    "process for each GPU")
      ->capture_default_str()
      ->type_name("N|auto|all|N,N");
  declare_measuring(parser, *options);
  declare_depth(parser, *options);
  parser.add_flag("--require-gpu", options->require_gpu, "end with status 2 where there is no GPU");
  return [options, &parser](Console& console) { return run(*options, parser, console); };
}

}  // namespace occbench
