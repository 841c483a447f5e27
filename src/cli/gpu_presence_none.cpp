#include "cli/gpu_presence.hpp"

namespace occbench {

std::string why_no_gpu() {
  return "this occbench was built without CUDA (scripts/run builds with it where there is a GPU)";
}

}  // namespace occbench
