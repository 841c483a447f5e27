#pragma once

#include "occupancy/launch.hpp"
#include "record/row.hpp"

namespace occbench {

// A recorded row says everything that theory and prediction need: both can be computed anew anywhere.

/// The launch that a row records. @throws InputError naming a column that it needs and that the row lacks.
Launch launch_of(const Row& row);

/// The kernel's usage that a row records; what the row lacks is 0. @throws InputError without
/// registers_per_thread.
Usage usage_of(const Row& row);

}  // namespace occbench
