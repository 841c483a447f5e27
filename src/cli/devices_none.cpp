#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "cli/gpu_presence.hpp"

namespace occbench {

Action declare_devices(CLI::App&) {
  return [](Console& console) {
    fmt::print(console.err, "occbench: {}\n", why_no_gpu());
    return ExitStatus::no_verdict;
  };
}

}  // namespace occbench
