#include "kernels/register_pressure_capped.hpp"
#include "kernels/register_pressure_kernel.cuh"

namespace occbench {
namespace {

// The parameter makes the name differ from build to build.
template <int kCap>
__global__ void register_pressure_capped_kernel(MultiplyAddArguments arguments) {
  register_pressure_rounds(arguments);
}

}  // namespace

template <int kCap>
const void* register_pressure_capped() {
  return reinterpret_cast<const void*>(register_pressure_capped_kernel<kCap>);
}

template const void* register_pressure_capped<OCC_REGISTER_CAP>();

}  // namespace occbench
