#include "record/hardware_limiter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/row.hpp"

namespace occbench {
namespace {

constexpr std::string_view kNone = "none";

/// Of the longest stall: allocations that stall as long run out together.
constexpr double kAsLong = 0.9;

Limiter parse_limiter(std::string_view word) {
  const auto* const found =
      std::ranges::find(kAllLimiters, word, [](Limiter limiter) { return to_string(limiter); });
  if (found == std::end(kAllLimiters))
    throw InputError(
        fmt::format("hardware_limiter has '{}', which is neither a limiter nor {}", word, kNone));
  return *found;
}

}  // namespace

std::optional<Limiters> hardware_limiters_of(
    std::span<const std::pair<Limiter, std::optional<double>>> stalls) {
  const auto cycles = [](const auto& stall) { return stall.second.value_or(-1); };
  const double longest = cycles(*std::ranges::max_element(stalls, {}, cycles));
  if (longest < 0) return std::nullopt;
  Limiters limiters;
  for (const auto& stall : stalls)
    limiters.add(stall.first, longest > 0 && cycles(stall) >= kAsLong * longest);
  return limiters;
}

std::string hardware_limiter_text(Limiters limiters) {
  return limiters == Limiters() ? std::string(kNone) : to_string(limiters);
}

Limiters parse_hardware_limiter(std::string_view text) {
  Limiters limiters;
  if (text == kNone) return limiters;
  while (true) {
    const std::size_t plus = text.find('+');
    limiters.add(parse_limiter(text.substr(0, plus)), true);
    if (plus == std::string_view::npos) return limiters;
    text.remove_prefix(plus + 1);
  }
}

}  // namespace occbench
