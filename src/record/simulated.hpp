#pragma once

#include <string>
#include <string_view>

namespace occbench {

/// The first line that a command prints about rows of `occbench run --rehearse`.
inline constexpr std::string_view kSimulatedLine =
    "SIMULATED: these rows are predictions by occbench run --rehearse; nothing was measured.";

/// Checks rows that are compared or merged: all simulated, or all measured. Cases that were not launched are neither.
class SimulatedOrMeasured {
 public:
  /// @param time_status  as in the column @param where  place of the row, for the message
  /// @throws InputError if earlier rows were of the other kind
  void add(std::string_view time_status, std::string_view where);

  bool simulated() const {
    return !simulated_.empty();
  }

 private:
  std::string simulated_, measured_;  ///< place of the first such row
};

}  // namespace occbench
