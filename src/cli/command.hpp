#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/statuses.hpp"
#include "orchestrate/console.hpp"

namespace CLI {
class App;
}

namespace occbench {

/// What a subcommand does once its options are parsed. @throws InputError for wrong input: status 64.
using Action = std::function<ExitStatus(Console&)>;

/// A subcommand: declares its options on the parser that it is given, and returns what to do with them.
struct Command {
  std::string_view name;
  std::string_view summary;
  Action (*declare)(CLI::App& parser);
  /// In place of `declare`, of a command that runs another one: takes that one's words too, as they were typed.
  Action (*declare_runner)(CLI::App& parser, std::vector<std::string> words) = nullptr;
};

/// Every subcommand, in the order of the help text.
std::span<const Command> commands();

/// The whole of `occbench`: parses, runs one subcommand and turns whatever went wrong into a message and a
/// status. `arguments` are without the program's name.
ExitStatus run_occbench(std::span<const char* const> arguments, Console& console);

}  // namespace occbench
