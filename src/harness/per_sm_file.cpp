#include "harness/per_sm_file.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "measure/trace.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

using BlocksOfSm = std::map<std::uint32_t, std::vector<BlockRecord>>;

BlocksOfSm by_sm(std::span<const BlockRecord> blocks) {
  BlocksOfSm sms;
  for (const BlockRecord& block : blocks) sms[block.sm].push_back(block);
  return sms;
}

struct Span {
  std::int64_t start_ns, end_ns, start_cycles, end_cycles;

  /// Of the SM's clock, as it ran over all of its blocks.
  double cycles_per_us() const {
    const auto ns = static_cast<double>(end_ns - start_ns);
    return ns > 0 ? 1000 * static_cast<double>(end_cycles - start_cycles) / ns : 0;
  }
};

Span span_of(const std::vector<BlockRecord>& blocks) {
  const auto least = [&](auto member) { return std::ranges::min(blocks, {}, member).*member; };
  const auto most = [&](auto member) { return std::ranges::max(blocks, {}, member).*member; };
  return {least(&BlockRecord::start_ns), most(&BlockRecord::end_ns), least(&BlockRecord::start_cycles),
          most(&BlockRecord::end_cycles)};
}

/// When each SM began, in order of time.
std::vector<std::int64_t> first_starts(const BlocksOfSm& sms) {
  std::vector<std::int64_t> starts;
  for (const auto& [sm, blocks] : sms) starts.push_back(span_of(blocks).start_ns);
  std::ranges::sort(starts);
  return starts;
}

std::ptrdiff_t earlier_than(std::int64_t ns, const std::vector<std::int64_t>& sorted) {
  return std::ranges::lower_bound(sorted, ns) - sorted.begin();
}

std::string latency_cell(const std::vector<std::int64_t>& cycles, double cycles_per_us) {
  if (cycles.empty() || cycles_per_us <= 0) return "";
  return real_text(median(std::vector<double>(cycles.begin(), cycles.end())) / cycles_per_us);
}

std::string us_since(std::int64_t first_ns, std::int64_t ns) {
  return real_text(1e-3 * static_cast<double>(ns - first_ns));
}

}  // namespace

std::string per_sm_csv(const CaseIdentity& of, std::span<const std::vector<WarpRecord>> launches,
                       int warps_per_block, int max_warps_per_sm) {
  std::string text = csv_record(std::vector<std::string>{
      "experiment", "case", "launch", "sm", "blocks", "achieved_pct", "start_order", "first_start_us",
      "last_end_us", "replacement_latency_median_us", "replacements"});
  for (std::size_t launch = 0; launch < launches.size(); ++launch) {
    const std::vector<BlockRecord> blocks = blocks_of(launches[launch], warps_per_block);
    if (blocks.empty()) continue;
    const std::int64_t first_ns = std::ranges::min(blocks, {}, &BlockRecord::start_ns).start_ns;
    const BlocksOfSm of_sm = by_sm(blocks);
    const std::vector<std::int64_t> starts = first_starts(of_sm);
    for (const SmRecord& sm : sms_of(launches[launch], warps_per_block)) {
      const std::vector<BlockRecord>& its_blocks = of_sm.at(sm.sm);
      const Span span = span_of(its_blocks);
      const std::vector<std::int64_t> latencies = replacement_latency_cycles(its_blocks);
      text += csv_record(std::vector<std::string>{
          of.experiment, of.name, fmt::format("{}", launch), fmt::format("{}", sm.sm),
          fmt::format("{}", sm.blocks), real_text(sm.achieved_pct(max_warps_per_sm)),
          fmt::format("{}", 1 + earlier_than(span.start_ns, starts)), us_since(first_ns, span.start_ns),
          us_since(first_ns, span.end_ns), latency_cell(latencies, span.cycles_per_us()),
          fmt::format("{}", latencies.size())});
    }
  }
  return text;
}

}  // namespace occbench
