#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "occupancy/occupancy.hpp"
#include "record/counter_values.hpp"

namespace occbench {

/// The allocations that stalled the launch of blocks longest, by the launch_stall columns: all whose stalls
/// come to at least nine tenths of the longest. The hardware counts no stalls for want of warps. No limiter where
/// all are 0; empty where none was read.
std::optional<Limiters> hardware_limiters_of(const CounterValues& counters);

/// As the column hardware_limiter shows them: "none", or as "blocks+shared_memory".
std::string hardware_limiter_text(Limiters limiters);

/// @throws InputError for a word that names no limiter
Limiters parse_hardware_limiter(std::string_view text);

}  // namespace occbench
