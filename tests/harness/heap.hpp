#pragma once

#include <cstddef>
#include <malloc.h>

#ifdef __SANITIZE_ADDRESS__
// Of sanitizer/allocator_interface.h, which not every GCC has.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace occbench {

/// Bytes that this process has allocated and not freed, without what the allocator keeps for later.
inline std::size_t heap_bytes() {
#ifdef __SANITIZE_ADDRESS__
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
#endif
}

}  // namespace occbench
