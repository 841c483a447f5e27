#include "kernels/assembled.hpp"
#include "kernels/hold_kernel.cuh"
#include "kernels/hold_variants.hpp"

namespace occbench {

Variant hold_as_ptx() {
  return make_variant("ptx_only", hold_kernel);
}

}  // namespace occbench
