#pragma once

#include "record/case_record.hpp"

namespace occbench {

/// Splits what the counter reads below theory into places without a block and warps that resident blocks
/// lack: the columns measured_loss_blocks_points and measured_loss_warps_points. A record without theory, an
/// achieved occupancy or the mean of resident blocks stays as it is.
/// @throws InputError as launch_on_device() does
void set_measured_losses(CaseRecord& record);

}  // namespace occbench
