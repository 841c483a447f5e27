#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// The variant of a build with -maxrregcount=kCap, each from an object file of its own.
template <int kCap>
Variant demanding_capped(std::string_view name);

}  // namespace occbench
