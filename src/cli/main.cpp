#include <iostream>
#include <span>

#include "cli/command.hpp"

int main(int argc, char** argv) {
  occbench::Console console{std::cout, std::cerr};
  const std::span<const char* const> arguments(argv + 1, argv + argc);
  return static_cast<int>(occbench::run_occbench(arguments, console));
}
