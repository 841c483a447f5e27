#include "cli/tool_program.hpp"

#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/child_process.hpp"
#include "cli/gpu_presence.hpp"
#include "record/files.hpp"

namespace occbench {

void declare_options(CLI::App& parser, ToolProgram& program) {
  parser.add_option("--device", program.device, "number of the GPU, or auto: the discrete one with most SMs")
      ->capture_default_str();
  parser.add_option("--benches", program.benches, "folder of the bench binaries (default: beside occbench)")
      ->type_name("FOLDER");
}

ExitStatus measure(const ToolProgram& program, const std::string& takes,
                   const std::vector<std::string>& arguments, Console& console) {
  namespace fs = std::filesystem;
  if (const std::string reason = why_no_gpu(); !reason.empty()) {
    fmt::print(console.err, "nothing is measured: {}\n", reason);
    return ExitStatus::no_verdict;
  }
  fmt::print(console.err, "measuring, {} ...\n", takes);
  const TemporaryFolder folder;
  const fs::path log = folder.path() / "log.txt";
  const fs::path programs =
      program.benches.empty() ? fs::read_symlink("/proc/self/exe").parent_path() : program.benches;
  std::vector<std::string> all = {"--occ_counters=require", "--occ_device=" + program.device};
  all.insert(all.end(), arguments.begin(), arguments.end());
  ChildProcess process(programs / program.name, all, log);
  const Ending ending = process.wait();
  if (ending == Ending{}) return ExitStatus::done;
  fmt::print(console.err, "the launches could not be measured ({}):\n{}\n", to_string(ending),
             read_text(log.string()));
  return ending.signal == 0 ? static_cast<ExitStatus>(ending.status) : ExitStatus::no_verdict;
}

}  // namespace occbench
