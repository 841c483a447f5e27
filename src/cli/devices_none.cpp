#include <memory>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "cli/gpu_option.hpp"

namespace occbench {

std::string why_no_gpu() {
  return "this occbench was built without CUDA (scripts/run builds with it where there is a GPU)";
}

std::optional<GpuIdentity> gpu_here() {
  return std::nullopt;
}

std::vector<GpuHere> gpus_here() {
  return {};
}

Action declare_devices(CLI::App& parser) {
  const auto format = std::make_shared<std::string>();
  add_format(parser, *format, {"table", "csv", "json"});
  return [format](Console& console) {
    fmt::print(console.err,
               "occbench: {}; `occbench calc --limits --gpu NAME` has the limits of any GPU, and "
               "docs/devices.md says what each is for\n",
               why_no_gpu());
    return ExitStatus::no_verdict;
  };
}

}  // namespace occbench
