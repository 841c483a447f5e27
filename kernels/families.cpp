#include "kernels/families.hpp"

#include <fmt/core.h>

namespace occbench {
namespace {

/// Name and text of each header of kernels that is compiled at run time.
const std::vector<std::pair<std::string, std::string>> kHeaders = {
#include "kernel_texts.inc"
};

}  // namespace

std::vector<Family> kernel_families() {
  return {spin_family(),       live_registers_family(), register_pressure_family(),
          fma_chains_family(), reads_family(),          shared_staging_family()};
}

KernelSource kernel_source(const std::string& header) {
  return {.name = "sweep.cu", .text = fmt::format("#include \"{}\"\n", header), .headers = kHeaders};
}

}  // namespace occbench
