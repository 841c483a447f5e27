#include "orchestrate/run.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "cli/gpu_option.hpp"
#include "files/lock.hpp"
#include "files/stop_signals.hpp"
#include "orchestrate/plan.hpp"

namespace occbench {

namespace {

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

/// Runs on one GPU, or in one process per GPU. A list of cases is that of the first.
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
  fmt::print(console.err,
             "{}: {}\n`occbench explain` shows recorded rows; `occbench calc` and `occbench predict` answer "
             "for a launch of yours.\n",
             options.list ? "which cases there are depends on the GPU" : "nothing is measured", reason);
  return ExitStatus::no_verdict;
}

/// Options for measurements beside times and the suite's counters, and for the order of cases.
void declare_depth(CLI::App& parser, RunOptions& options) {
  add_comma_list(parser, "--metrics", options.metrics,
                 "more hardware metrics, separated by commas: a column each, and their samples")
      ->type_name("NAME,NAME");
  pass_on(parser, "--timeline", options.flags, "write occupancy over time there, a file a case")
      ->type_name("FOLDER");
  pass_on(parser, "--per-sm", options.flags,
          "write what each SM did there, a file a case whose kernel keeps records of its warps")
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
  parser.add_flag("--list", options->list, "print the cases that this GPU has, and end");
  add_device_option(parser, options->device,
                    "number of the GPU; auto: the discrete one with most SMs; all, or a list such as 0,2: a "
                    "process for each GPU")
      ->capture_default_str()
      ->type_name("N|auto|all|N,N");
  declare_measuring(parser, *options);
  declare_depth(parser, *options);
  return [options, &parser](Console& console) { return run(*options, parser, console); };
}

}  // namespace occbench
