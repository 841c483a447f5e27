#pragma once

namespace occbench {

/// The function of the build with -maxrregcount=kCap, each from an object file of its own.
template <int kCap>
const void* register_pressure_capped();

}  // namespace occbench
