#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace occbench {

/// How `occbench` and the bench binaries end.
enum class ExitStatus {
  done = 0,
  regression = 1,  ///< the gate found one
  no_verdict = 2,  ///< none could be given, or something asked for was not measured
  usage = 64,      ///< wrong use or input (EX_USAGE)
  fault = 70,      ///< a fault of ours (EX_SOFTWARE)
};

/// Data goes to `out`, everything else to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
};

/// What a subcommand does once its options are parsed. @throws InputError for wrong input: status 64.
using Action = std::function<ExitStatus(Console&)>;

/// A subcommand: declares its options on the parser that it is given, and returns what to do with them.
struct Command {
  std::string_view name;
  std::string_view summary;
  Action (*declare)(CLI::App& parser);
};

/// Every subcommand, in the order of the help text.
std::span<const Command> commands();

/// The whole of `occbench`: parses, runs one subcommand and turns whatever went wrong into a message and a
/// status. `arguments` are without the program's name.
ExitStatus run_occbench(std::span<const char* const> arguments, Console& console);

}  // namespace occbench
