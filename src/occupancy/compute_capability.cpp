#include "occupancy/compute_capability.hpp"

#include <charconv>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {

std::string to_string(ComputeCapability capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

ComputeCapability parse_compute_capability(std::string_view text) {
  std::string_view digits = text;
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (digits.starts_with(prefix)) digits.remove_prefix(prefix.size());
  }
  const std::size_t dot = digits.find('.');
  const bool dotted = dot != std::string_view::npos;
  // Without a dot the last digit is the minor version: 90 = 9.0, 121 = 12.1.
  const std::size_t split = dotted ? dot : (digits.empty() ? 0 : digits.size() - 1);
  const std::string_view major_text = digits.substr(0, split);
  const std::string_view minor_text = digits.substr(split + (dotted ? 1 : 0));

  const auto number = [](std::string_view part, int& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size() && part.size() <= 2 && value >= 0;
  };
  ComputeCapability capability;
  if (!number(major_text, capability.major) || !number(minor_text, capability.minor) ||
      minor_text.size() != 1) {
    throw InputError(fmt::format("'{}' is not a compute capability; write it as 9.0, 90 or sm_90", text));
  }
  return capability;
}

}  // namespace occbench
