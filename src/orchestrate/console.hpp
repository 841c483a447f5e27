#pragma once

#include <ostream>

namespace occbench {

/// Data goes to `out`, everything else to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
};

}  // namespace occbench
