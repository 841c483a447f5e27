#pragma once

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

}  // namespace occbench
