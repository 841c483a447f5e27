#pragma once

#include "occupancy/input_error.hpp"

namespace occbench {

/// There is no NVRTC on this machine. The message names the packages that have it. Separate from nvrtc.hpp,
/// which users' device code includes, because nvcc cannot compile the header of fmt.
class NoRuntimeCompiler : public InputError {
 public:
  using InputError::InputError;
};

}  // namespace occbench
