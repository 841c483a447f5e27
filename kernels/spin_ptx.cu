#include "kernels/assembled.hpp"
#include "kernels/spin_kernel.cuh"
#include "kernels/spin_variants.hpp"

namespace occbench {

Variant spin_as_ptx() {
  return make_variant("ptx_only", spin_kernel);
}

}  // namespace occbench
