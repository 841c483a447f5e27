#include "cli/tool_program.hpp"

#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/child_process.hpp"
#include "cli/gpu_presence.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/stop_signals.hpp"

namespace occbench {

namespace fs = std::filesystem;

void declare_options(CLI::App& parser, ToolProgram& program) {
  add_device_option(parser, program.device, kDeviceMeaning)
      ->capture_default_str()
      ->type_name("N|auto|all|N,N");
  declare_at_once(parser, program.at_once);
  parser.add_option("--benches", program.benches, "folder of the bench binaries (default: beside occbench)")
      ->type_name("FOLDER");
}

ToolRun measure(const ToolProgram& program, const std::string& takes, std::vector<std::string> arguments,
                const fs::path& rows, Console& console) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) {
    fmt::print(console.err, "nothing is measured: {}\n", reason);
    return {ExitStatus::no_verdict, {}, {}};
  }
  fmt::print(console.err, "measuring, {} ...\n", takes);
  return run_tool(program, std::move(arguments), rows, console);
}

ToolRun run_tool(const ToolProgram& program, std::vector<std::string> arguments, const fs::path& rows,
                 Console& console) {
  const StopOnSignals stop;  // first: the folder goes before a signal ends this process again
  const TemporaryFolder folder;
  const fs::path log = folder.path() / "log.txt";
  const fs::path file = rows.empty() ? folder.path() / "rows.csv" : rows;
  const fs::path programs =
      program.benches.empty() ? fs::read_symlink("/proc/self/exe").parent_path() : program.benches;
  arguments.insert(arguments.begin(), {"--occ_counters=require", "--occ_device=" + program.device,
                                       "--occ_csv=" + file.string()});
  const Ending ending = ChildProcess(programs / program.name, arguments, log).wait_or_stop();
  if (ending == Ending{})
    return {ExitStatus::done, read_case_records(file), read_samples(samples_path(file))};
  if (stop_asked()) {
    fmt::print(console.err, "interrupted\n");
    return {ExitStatus::no_verdict, {}, {}};
  }
  fmt::print(console.err, "the launches could not be measured ({}):\n{}\n", to_string(ending),
             read_text(log.string()));
  return {ending.signal == 0 ? static_cast<ExitStatus>(ending.status) : ExitStatus::no_verdict, {}, {}};
}

}  // namespace occbench
