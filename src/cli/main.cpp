#include <iostream>
#include <unistd.h>

#include "cli/command.hpp"
#include "orchestrate/terminal.hpp"

int main(int argc, char** argv) {
  occbench::TerminalStream out(std::cout, STDOUT_FILENO);
  occbench::TerminalStream err(std::cerr, STDERR_FILENO);
  err.tie(&out);  // output of both to one file stays in order
  occbench::Console console{out, err};
  const std::span<const char* const> arguments(argv + 1, argv + argc);
  return static_cast<int>(occbench::run_occbench(arguments, console));
}
