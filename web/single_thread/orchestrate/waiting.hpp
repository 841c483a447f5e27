#pragma once

#include <cstddef>
#include <string>

namespace occbench {

/// A page has no terminal to tell: in place of src/orchestrate/waiting.hpp.
class Waiting {
 public:
  explicit Waiting(const std::string&, std::size_t = 0) {}
  void step() {}
};

}  // namespace occbench
