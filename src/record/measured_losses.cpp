#include "record/measured_losses.hpp"

#include "record/replay.hpp"

namespace occbench {

void set_measured_losses(CaseRecord& record) {
  Readings& readings = record.readings;
  if (!record.theory || !readings.counters.achieved_pct || !readings.counters.resident_blocks) return;
  const LaunchOnDevice on = launch_on_device(record);
  const int warps = theoretical_occupancy(on).warps_per_block;
  const double filled = 100 * *readings.counters.resident_blocks * warps / on.limits.max_warps_per_sm;
  readings.measured_loss_blocks_points = record.theory->theoretical_pct - filled;
  readings.measured_loss_warps_points = filled - *readings.counters.achieved_pct;
}

}  // namespace occbench
