#pragma once

#include <cstddef>

namespace occbench {

/// A page has one thread for a module: in place of src/predict/parallel.hpp.
template <typename Function>
void for_each_parallel(std::size_t count, const Function& of) {
  for (std::size_t i = 0; i < count; ++i) of(i);
}

}  // namespace occbench
