#pragma once

#include <cstdint>

namespace occbench {

/// Microseconds of one cub::DeviceReduce::Sum of `count` floats, as a program without occbench measures it:
/// many calls on the default stream between two events, over their number. Returns a negative number where a
/// call fails.
double device_wide_sum_microseconds(std::int64_t count);

}  // namespace occbench
