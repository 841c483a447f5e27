#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace occbench {

/// Input from a user that cannot be used: a flag, a file, a number out of range. The message names the value, the limit
/// it broke and the remedy. Programs end with status 64 (`EX_USAGE`) on it.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
  /// @param text  a format string for the others, as for fmt::format()
  template <typename First, typename... Rest>
  InputError(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest)
      : std::runtime_error(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
};

/// Runs `act`, which reads a line of a file. @throws InputError with the place, "FILE, line 3: ", before its message
template <typename Act>
auto at_line(std::string_view source, std::size_t line, const Act& act) {
  try {
    return act();
  } catch (const InputError& error) {
    throw InputError("{}, line {}: {}", source, line, error.what());
  }
}

/// The names among `known` that are most like `wanted`, best first, at most `count`: those that begin with `wanted`,
/// then those that contain it, then those with the fewest letters to insert, delete or replace (Levenshtein distance).
/// Ties are in alphabetical order.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> known,
                                       std::size_t count);

}  // namespace occbench
