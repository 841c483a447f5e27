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

/// Without the blanks, tabs and carriage returns around it.
inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace occbench
