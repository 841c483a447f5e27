#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu/warp_record.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// What each SM did in each traced launch as CSV: experiment, case, launch (from 0), sm, blocks, achieved_pct
/// (resident warps over the SM's maximum, in cycles in which it had any), start_order (1
/// for the SM that began first; those that began at one step of the clock share a place), first_start_us and
/// last_end_us (from the launch's first start), replacement_latency_median_us (from the end of a block to the
/// start of the next one on that SM; empty where no block followed another) and replacements. SMs that ran
/// nothing have no line.
std::string per_sm_csv(const CaseIdentity& of, std::span<const std::vector<WarpRecord>> launches,
                       int warps_per_block, int max_warps_per_sm);

}  // namespace occbench
