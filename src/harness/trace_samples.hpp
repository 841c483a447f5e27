#pragma once

#include <span>
#include <vector>

#include "gpu/warp_record.hpp"
#include "record/row.hpp"

namespace occbench {

/// What a traced launch of a row's case says, as samples of the row:
///   trace_achieved_pct           achieved occupancy of the traced launch, one value
///   trace_out_of_order           blocks that started after one of a higher index, one value
///   trace_sm                     for each block, in the order of the grid: the SM that ran it
///   trace_start_ns, trace_end_ns likewise: from the first block's start
///   trace_hand_over_cycles       for each block that took an ended one's place: cycles in between
///   trace_most_blocks            for each SM that ran any, ascending: blocks resident at once
std::vector<Sample> trace_samples(const Row& row, std::span<const WarpRecord> records, int warps_per_block,
                                  int max_warps_per_sm);

}  // namespace occbench
