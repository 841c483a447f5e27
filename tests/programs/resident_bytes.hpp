#pragma once

#include <cstddef>
#include <fstream>

namespace occbench {

/// Resident memory of this process, bytes.
inline std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

}  // namespace occbench
