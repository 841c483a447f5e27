#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "occupancy/occupancy.hpp"

namespace occbench {

/// The allocations that stalled the launch of blocks longest: all whose stalls come to at least nine tenths of the longest.
/// The hardware counts no stalls for want of warps. No limiter where all are 0; empty where none was read.
/// @param stalls  cycles in which a waiting block lacked it
std::optional<Limiters> hardware_limiters_of(
    std::span<const std::pair<Limiter, std::optional<double>>> stalls);

/// As the column hardware_limiter shows them: "none", or as "blocks+shared_memory".
std::string hardware_limiter_text(Limiters limiters);

/// @throws InputError for a word that names no limiter
Limiters parse_hardware_limiter(std::string_view text);

}  // namespace occbench
