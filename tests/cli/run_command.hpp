#pragma once

#include <initializer_list>
#include <sstream>
#include <string>

#include "cli/command.hpp"

namespace occbench {

/// What `occbench ARGUMENTS` printed and how it ended.
struct Outcome {
  ExitStatus status;
  std::string out;
  std::string err;
};

inline Outcome run_command(std::initializer_list<const char*> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const ExitStatus status = run_occbench({arguments.begin(), arguments.size()}, console);
  return {status, out.str(), err.str()};
}

}  // namespace occbench
