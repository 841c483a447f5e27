#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "cli/gpu_presence.hpp"

namespace occbench {

Action declare_devices(CLI::App&) {
  return [](Console& console) {
    fmt::print(
        console.err,
        "occbench: {}; `occbench calc --limits --gpu NAME` has the limits of any GPU, and docs/devices.md "
        "says what each is for\n",
        why_no_gpu());
    return ExitStatus::no_verdict;
  };
}

}  // namespace occbench
