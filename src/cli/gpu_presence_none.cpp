#include "cli/gpu_presence.hpp"

namespace occbench {

std::string why_no_gpu() {
  return "this occbench was built without CUDA (scripts/run builds with it where there is a GPU)";
}

std::optional<GpuIdentity> gpu_here(const std::string&) {
  return std::nullopt;
}

std::vector<GpuHere> gpus_here() {
  return {};
}

}  // namespace occbench
