#pragma once

#include <initializer_list>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace occbench {

/// What `occbench ARGUMENTS` printed and how it ended.
struct Outcome {
  ExitStatus status;
  std::string out;
  std::string err;
};

inline Outcome run_command(std::span<const char* const> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const ExitStatus status = run_occbench(arguments, console);
  return {status, out.str(), err.str()};
}

inline Outcome run_command(std::initializer_list<const char*> arguments) {
  return run_command(std::span(arguments.begin(), arguments.size()));
}

inline Outcome run_command(const std::vector<std::string>& arguments) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return run_command(pointers);
}

}  // namespace occbench
