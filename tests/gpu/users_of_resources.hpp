#pragma once

#include <vector>

namespace occbench {

/// A kernel that is compiled but never launched.
struct ResourceUser {
  const void* function;
  int barriers;  ///< named barriers, which the runtime does not report
};

/// Kernels that differ in registers (few to nearly 255), static shared memory (none to 48 KB) and barriers (0
/// to 16).
std::vector<ResourceUser> users_of_resources();

}  // namespace occbench
