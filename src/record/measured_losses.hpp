#pragma once

#include "occupancy/limits.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// Where the points between theory and counter are, by resident blocks. They add up to theoretical - achieved.
struct MeasuredParts {
  double blocks = 0;  ///< places without a block; below 0 where an SM held more blocks than theory says
  double warps = 0;   ///< warps of resident blocks that had exited or not begun
};

/// @param resident_blocks  mean over an SM's active cycles
/// @param warps_per_sm     that it can hold
MeasuredParts measured_parts(double theoretical_pct, double achieved_pct, double resident_blocks,
                             int warps_per_block, int warps_per_sm);

/// Fills the columns measured_loss_blocks_points and measured_loss_warps_points of a case whose theory, launch
/// and counters are known; leaves others as they are.
void set_measured_losses(CaseRecord& record, const Limits& limits);

}  // namespace occbench
