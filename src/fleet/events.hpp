#pragma once

#include <span>

#include "fleet/compare.hpp"

namespace occbench {

/// Appends what happens to a GPU in a larger share of its cases than to its peers: throttle reasons, another process, unread
/// counters, an SM without work. @param peers  all, among them those of `compared`
void add_events(const FleetRows& rows, std::span<const std::size_t> peers, std::span<ComparedGpu> compared);

/// Appends columns in which a GPU differs from more than half of its peers, and cases that failed.
void add_differences(const FleetRows& rows, std::span<const std::size_t> peers,
                     std::span<ComparedGpu> compared);

}  // namespace occbench
