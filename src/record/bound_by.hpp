#pragma once

#include <algorithm>
#include <string_view>

namespace occbench {

/// Whether a launch never waits for anything outside its SM: its declared work is clock polls, issue slots or a pipe, and it
/// spills nothing. False where the case does not say. @param work  as in that column
inline bool is_bound_by_sm(std::string_view work, bool spills) {
  const auto says = [&](std::string_view field) { return work.find(field) != std::string_view::npos; };
  return !spills && !says(":bytes=") && (says(":poll=") || says(":issue=") || says(":pipe="));
}

/// Whether a case declares that its warps wait for atomic operations in L2. @param expected_cause  as in that column
inline bool expects_atomics(std::string_view expected_cause) {
  while (!expected_cause.empty()) {
    const std::size_t end = std::min(expected_cause.find('+'), expected_cause.size());
    if (expected_cause.substr(0, end) == "atomics") return true;
    expected_cause.remove_prefix(std::min(end + 1, expected_cause.size()));
  }
  return false;
}

}  // namespace occbench
