#include "occupancy/statuses.hpp"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

// In the order of the enumerators.
constexpr auto kTimeStatuses =
    std::to_array<std::string_view>({"ok", "unstable", "throttled", "failed", "skipped", "simulated"});
constexpr auto kCountersStatuses =
    std::to_array<std::string_view>({"ok", "denied", "busy", "unsupported", "off", "failed"});
constexpr auto kChecks = std::to_array<std::string_view>({"ok", "wrong", "none", "lost_updates"});

template <typename Status, std::size_t Count>
Status parse(std::string_view column, std::string_view word,
             const std::array<std::string_view, Count>& words) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) {
    throw InputError("{} = '{}' is none of {}", column, word, fmt::join(words, ", "));
  }
  return static_cast<Status>(found - words.begin());
}

}  // namespace

std::string_view to_string(TimeStatus status) {
  return kTimeStatuses.at(static_cast<std::size_t>(status));
}

std::string_view to_string(CountersStatus status) {
  return kCountersStatuses.at(static_cast<std::size_t>(status));
}

std::string_view to_string(Check check) {
  return kChecks.at(static_cast<std::size_t>(check));
}

TimeStatus parse_time_status(std::string_view word) {
  return parse<TimeStatus>("time_status", word, kTimeStatuses);
}

CountersStatus parse_counters_status(std::string_view word) {
  return parse<CountersStatus>("counters_status", word, kCountersStatuses);
}

Check parse_check(std::string_view word) {
  return parse<Check>("check", word, kChecks);
}

}  // namespace occbench
