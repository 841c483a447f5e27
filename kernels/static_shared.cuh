#pragma once

namespace occbench {

/// Static shared memory that a kernel compiled at run time has beside its own: OCC_STATIC_SHARED_BYTES bytes.
/// No instruction uses it.
__device__ inline void keep_static_shared() {
#ifdef OCC_STATIC_SHARED_BYTES
  __shared__ char memory[OCC_STATIC_SHARED_BYTES];
  asm volatile("" ::"l"(memory) : "memory");
#endif
}

}  // namespace occbench
