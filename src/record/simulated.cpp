#include "record/simulated.hpp"

#include "occupancy/input_error.hpp"
#include "occupancy/statuses.hpp"

namespace occbench {

void SimulatedOrMeasured::add(std::string_view time_status, std::string_view where) {
  if (time_status.empty() || time_status == to_string(TimeStatus::skipped)) return;
  std::string& first = time_status == to_string(TimeStatus::simulated) ? simulated_ : measured_;
  if (first.empty()) first = where;
  if (!simulated_.empty() && !measured_.empty()) {
    throw InputError(
        "{} has simulated rows (occbench run --rehearse) and {} measured ones, which are not compared or "
        "merged: leave out one of them",
        simulated_, measured_);
  }
}

}  // namespace occbench
