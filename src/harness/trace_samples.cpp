#include "harness/trace_samples.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/core.h>

#include "measure/trace.hpp"

namespace occbench {

void add_trace_samples(CaseSamples& samples, std::span<const WarpRecord> records, int warps_per_block,
                       int max_warps_per_sm, std::string_view prefix) {
  if (records.empty()) return;
  const std::vector<BlockRecord> blocks = blocks_of(records, warps_per_block);
  const std::vector<SmRecord> sms = sms_of(records, warps_per_block);
  const std::int64_t first_ns = std::ranges::min(blocks, {}, &BlockRecord::start_ns).start_ns;
  const auto add = [&](std::string_view quantity, std::int64_t index, double value) {
    samples.add(fmt::format("{}{}", prefix, quantity), index, value);
  };
  add("achieved_pct", 0, achieved_pct(sms, max_warps_per_sm));
  add("out_of_order", 0, static_cast<double>(out_of_order(blocks)));
  for (const BlockRecord& block : blocks) {
    add("sm", block.block, block.sm);
    add("start_ns", block.block, static_cast<double>(block.start_ns - first_ns));
    add("end_ns", block.block, static_cast<double>(block.end_ns - first_ns));
    add("sm_cycles", block.block, static_cast<double>(block.end_cycles - block.start_cycles));
  }
  const std::vector<std::int64_t> gaps = replacement_latency_cycles(blocks);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    add("replacement_latency_cycles", static_cast<std::int64_t>(i), static_cast<double>(gaps[i]));
  }
  for (std::size_t i = 0; i < sms.size(); ++i) {
    add("most_blocks", static_cast<std::int64_t>(i), static_cast<double>(sms[i].most_blocks));
  }
}

}  // namespace occbench
