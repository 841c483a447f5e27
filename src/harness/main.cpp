#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "gpu/error.hpp"
#include "harness/experiment.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "harness/run_cases.hpp"
#include "harness/session.hpp"
#include "occupancy/exit_status.hpp"
#include "occupancy/input_error.hpp"
#include "record/json.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

/// Which profile predicts, where it is not the GPU's own.
void print_remark(const Session& session, const Options& options, const Device& device) {
  const ChosenProfile& used = session.profile();
  const std::string remark = remark_on(used.profile.name, used.quality, device.name);
  if (remark.empty()) return;
  const bool by_choice = options.device_profile || options.planned_for;
  fmt::print(stderr, "{}{}\n", remark,
             by_choice ? "" : "; `occbench calibrate` makes one of this GPU, in less than 20 s");
}

ExitStatus run(const std::string& program, const Options& options) {
  initialize_google_benchmark(program, options);
  const Device device = options.planned_for ? *options.planned_for : open_device(options.device);
  for (const std::string& note : device.notes) fmt::print(stderr, "{}: {}\n", device.name, note);
  const std::unique_ptr<Instruments> instruments =
      options.planned_for ? make_no_instruments() : make_gpu_instruments(device, options.readings);
  Session session(device, options, *instruments);
  // Of a list that fails, the reason is the first thing said.
  if (!options.list) print_remark(session, options, device);
  const StopOnSignals stop;
  const ExitStatus status = run_cases(session, experiment);
  if (options.list) {
    std::fflush(stdout);  // The reader of the list has both in one file.
    print_remark(session, options, device);
  }
  return status;
}

void describe(const Experiment& described) {
  nlohmann::ordered_json object = {
      {"name", described.name}, {"claim", described.claim}, {"source", described.source}};
  if (described.families) {
    for (const Family& family : described.families()) {
      nlohmann::ordered_json axes = nlohmann::ordered_json::array();
      for (const SweepAxis& axis : family.axes)
        axes.push_back({{"name", axis.name}, {"meaning", axis.meaning}, {"values", axis.values}});
      object["families"].push_back(
          {{"name", family.name}, {"description", family.description}, {"axes", axes}});
    }
  }
  fmt::print("{}\n", json_text(object, -1));
}

ExitStatus guarded_main(const std::vector<std::string>& arguments) {
  try {
    const Options options = parse_options({arguments.begin() + 1, arguments.end()});
    if (options.help) {
      fmt::print("{}: {}\n\n{}\n", experiment.name, experiment.claim, options_help());
      benchmark::PrintDefaultHelp();
      return ExitStatus::done;
    }
    if (options.describe) {
      describe(experiment);
      return ExitStatus::done;
    }
    return run(arguments.front(), options);
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return ExitStatus::usage;
  } catch (const GpuUnavailable& error) {
    fmt::print(stderr, "nothing was measured: {}\n", error.what());
    return ExitStatus::no_verdict;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal fault: {}\n", error.what());
    return ExitStatus::fault;
  }
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) {
  using occbench::ExitStatus;
  const ExitStatus status = occbench::guarded_main({argv, argv + argc});
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
    return static_cast<int>(status);
  fmt::print(stderr, "standard output could not be written (is its disk full?)\n");
  return static_cast<int>(status == ExitStatus::done ? ExitStatus::usage : status);
}
