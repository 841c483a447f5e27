#pragma once

namespace occbench {

/// The function of the build with -maxrregcount=kCap; each cap has its own object file.
template <int kCap>
const void* register_pressure_capped();

}  // namespace occbench
