#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace occbench {

/// The whole text as a number from `low` to `high`; empty if it is none.
template <typename Number>
std::optional<Number> read_number(std::string_view text, Number low, Number high) {
  Number value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= low && value <= high)) return std::nullopt;
  return value;
}

}  // namespace occbench
