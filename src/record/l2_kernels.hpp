#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace occbench {

/// Kernels of the suite whose time is that of atomic operations in L2. Rows of the smoke and quick suites have no counter
/// that says so. @param kernel  as in the column of that name
inline bool waits_for_atomics_in_l2(std::string_view kernel) {
  constexpr std::array<std::string_view, 3> kKernels = {"atomics", "atomic_forms", "data_race"};
  return std::ranges::find(kKernels, kernel) != kKernels.end();
}

}  // namespace occbench
