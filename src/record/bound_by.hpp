#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "occupancy/text.hpp"

namespace occbench {

/// Whether a launch never waits for anything outside its SM: its declared work is clock polls, issue slots or a pipe, and it
/// spills nothing. False where the case does not say. @param work  as in that column
inline bool is_bound_by_sm(std::string_view work, bool spills) {
  const auto says = [&](std::string_view field) { return work.find(field) != std::string_view::npos; };
  return !spills && !says(":bytes=") && (says(":poll=") || says(":issue=") || says(":pipe="));
}

/// Whether a case declares that its warps wait for atomic operations in L2. @param expected_cause  as in that column
inline bool expects_atomics(std::string_view expected_cause) {
  const std::vector<std::string_view> causes = split(expected_cause, '+');
  return std::ranges::find(causes, "atomics") != causes.end();
}

}  // namespace occbench
