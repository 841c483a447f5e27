#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace occbench {

/// A GPU's compute capability, as in `sm_90` = 9.0.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  auto operator<=>(const ComputeCapability&) const = default;
};

/// "9.0"
std::string to_string(ComputeCapability capability);

/// Reads "9.0", "90", "sm_90" or "compute_90" (also "12.1", "121", "sm_121").
/// @throws InputError if the text has none of these forms. Whether the limits table knows it is not asked
/// here.
ComputeCapability parse_compute_capability(std::string_view text);

}  // namespace occbench
