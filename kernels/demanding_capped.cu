#include "kernels/assembled.hpp"
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
Variant demanding_capped(std::string_view name) {
  return make_variant(name, demanding_capped_kernel<kCap>);
}

template Variant demanding_capped<OCC_REGISTER_CAP>(std::string_view);

}  // namespace occbench
