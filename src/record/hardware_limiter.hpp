#pragma once

#include <optional>
#include <string_view>

#include "occupancy/occupancy.hpp"
#include "record/counter_values.hpp"

namespace occbench {

/// The allocation that stalled the launch of blocks longest, as the hardware counted it. It counts no stalls
/// for want of warps.
enum class HardwareLimiter : unsigned char { none, registers, shared_memory, blocks, barriers };

/// "none", "registers", "shared_memory", "blocks" or "barriers"
std::string_view to_string(HardwareLimiter limiter);

/// @throws InputError for a word that is none of them
HardwareLimiter parse_hardware_limiter(std::string_view word);

/// The calculator's limiter of that name; empty for none.
std::optional<Limiter> limiter_of(HardwareLimiter limiter);

/// By the launch_stall columns: the largest; none where all are 0. Empty where none was read.
std::optional<HardwareLimiter> hardware_limiter_of(const CounterValues& counters);

}  // namespace occbench
