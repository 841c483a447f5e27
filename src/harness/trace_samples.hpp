#pragma once

#include <span>
#include <string_view>

#include "gpu/warp_record.hpp"
#include "harness/case_samples.hpp"

namespace occbench {

/// The first traced launch of a case, and the second: what differs between them is not decided by the launch.
inline constexpr std::string_view kTracePrefixes[] = {"trace_", "trace_again_"};

/// Adds what a traced launch of a case says, under names with `prefix` for `trace_`:
///   trace_achieved_pct           achieved occupancy of the traced launch, one value
///   trace_out_of_order           blocks that started after one of a higher index, one value
///   trace_sm                     for each block, in the order of the grid: the SM that ran it
///   trace_start_ns, trace_end_ns likewise: from the first block's start
///   trace_sm_cycles              likewise: from its start to its end on the clock of its SM
///   trace_replacement_latency_cycles       for each block that took an ended one's place: cycles in between
///   trace_most_blocks            for each SM that ran any, ascending: blocks resident at once
void add_trace_samples(CaseSamples& samples, std::span<const WarpRecord> records, int warps_per_block,
                       int max_warps_per_sm, std::string_view prefix = kTracePrefixes[0]);

}  // namespace occbench
