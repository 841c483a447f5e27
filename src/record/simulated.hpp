#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace occbench {

/// The first line that a command prints of rows that `occbench run --rehearse` wrote.
inline constexpr std::string_view kSimulatedLine =
    "SIMULATED: these rows are predictions by occbench run --rehearse; nothing was measured.";

/// Rows that are compared or merged: all of them simulated, or all measured. Cases that were not launched are neither.
class SimulatedOrMeasured {
 public:
  /// @param time_status  as in the column; @param where  the row stands, for the message
  /// @throws InputError where rows before were of the other kind
  void add(std::string_view time_status, std::string_view where);

  bool simulated() const {
    return !simulated_.empty();
  }

 private:
  std::string simulated_, measured_;  ///< where the first such row stands
};

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
