#pragma once

namespace occbench {

/// Static shared memory of a kernel compiled at run time, in addition to its own: OCC_STATIC_SHARED_BYTES
/// bytes. No instruction uses it.
__device__ inline void keep_static_shared() {
#ifdef OCC_STATIC_SHARED_BYTES
  __shared__ char memory[OCC_STATIC_SHARED_BYTES];
  asm volatile("" ::"l"(memory) : "memory");
#endif
}

}  // namespace occbench
