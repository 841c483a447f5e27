#include "cli/tool_program.hpp"

#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/gpu_presence.hpp"

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
  arguments.insert(arguments.begin(), {"--occ_counters=require", "--occ_device=" + program.device});
  return run_tool(programs_folder(program.benches) / program.name, std::move(arguments), rows, console);
}

}  // namespace occbench
