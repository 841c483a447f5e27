#include "record/measured_losses.hpp"

#include "occupancy/warps.hpp"

namespace occbench {

MeasuredParts measured_parts(double theoretical_pct, double achieved_pct, double resident_blocks,
                             int warps_per_block, int warps_per_sm) {
  const double filled_pct = 100 * resident_blocks * warps_per_block / warps_per_sm;
  return {theoretical_pct - filled_pct, filled_pct - achieved_pct};
}

void set_measured_losses(CaseRecord& record, const Limits& limits) {
  const CounterValues& counters = record.readings.counters;
  if (!record.theory || !record.launch || !counters.resident_blocks || !counters.achieved_pct) return;
  const MeasuredParts parts =
      measured_parts(record.theory->theoretical_pct, *counters.achieved_pct, *counters.resident_blocks,
                     warps_of_block(record.launch->block_threads), limits.max_warps_per_sm);
  record.readings.measured_loss_blocks_points = parts.blocks;
  record.readings.measured_loss_warps_points = parts.warps;
}

}  // namespace occbench
