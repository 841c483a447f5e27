#include "kernels/demanding_capped.hpp"
#include "kernels/demanding_kernel.cuh"

namespace occbench {
namespace {

// The parameter makes the name differ from build to build.
template <int kCap>
__global__ void demanding_capped_kernel(MultiplyAddArguments arguments) {
  demanding_rounds(arguments);
}

}  // namespace

template <int kCap>
const void* demanding_capped() {
  return reinterpret_cast<const void*>(demanding_capped_kernel<kCap>);
}

template const void* demanding_capped<OCC_REGISTER_CAP>();

}  // namespace occbench
