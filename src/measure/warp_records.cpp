#include "measure/warp_records.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

struct Interval {
  std::int64_t start, end;
};

/// Length of the union of the intervals.
std::int64_t covered(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::start);
  std::int64_t length = 0;
  std::int64_t reached = std::numeric_limits<std::int64_t>::min();
  for (const Interval& interval : intervals) {
    if (interval.end <= reached) continue;
    length += interval.end - std::max(interval.start, reached);
    reached = interval.end;
  }
  return length;
}

/// Most intervals that overlap; one that ends when another starts does not overlap it.
std::int64_t most_at_once(const std::vector<Interval>& intervals) {
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const Interval& interval : intervals) {
    changes.emplace_back(interval.start, 1);
    changes.emplace_back(interval.end, -1);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [when, change] : changes) {
    now += change;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

std::vector<BlockRecord> blocks_of(std::span<const WarpRecord> records, int warps_per_block) {
  if (warps_per_block < 1 || records.size() % static_cast<std::size_t>(warps_per_block) != 0) {
    throw InputError("{} records are no whole number of blocks of {} warps", records.size(), warps_per_block);
  }
  std::vector<BlockRecord> blocks;
  for (std::size_t first = 0; first < records.size(); first += static_cast<std::size_t>(warps_per_block)) {
    const auto warps = records.subspan(first, static_cast<std::size_t>(warps_per_block));
    const auto least = [&](auto member) { return std::ranges::min(warps, {}, member).*member; };
    const auto most = [&](auto member) { return std::ranges::max(warps, {}, member).*member; };
    blocks.push_back({.block = static_cast<std::int64_t>(blocks.size()),
                      .sm = warps.front().sm,
                      .start_cycles = least(&WarpRecord::start_cycles),
                      .end_cycles = most(&WarpRecord::end_cycles),
                      .start_ns = least(&WarpRecord::start_ns),
                      .end_ns = most(&WarpRecord::end_ns)});
  }
  return blocks;
}

std::vector<SmRecord> sms_of(std::span<const WarpRecord> records, int warps_per_block) {
  std::map<std::uint32_t, std::vector<Interval>> warps;
  for (const WarpRecord& record : records)
    warps[record.sm].push_back({record.start_cycles, record.end_cycles});
  std::map<std::uint32_t, std::vector<Interval>> blocks;
  for (const BlockRecord& block : blocks_of(records, warps_per_block)) {
    blocks[block.sm].push_back({block.start_cycles, block.end_cycles});
  }
  std::vector<SmRecord> sms;
  for (const auto& [sm, intervals] : warps) {
    const std::int64_t warp_cycles = std::accumulate(
        intervals.begin(), intervals.end(), std::int64_t{0},
        [](std::int64_t sum, const Interval& interval) { return sum + interval.end - interval.start; });
    sms.push_back({.sm = sm,
                   .blocks = static_cast<std::int64_t>(blocks[sm].size()),
                   .most_blocks = most_at_once(blocks[sm]),
                   .active_cycles = covered(intervals),
                   .warp_cycles = warp_cycles});
  }
  return sms;
}

double achieved_pct(std::span<const SmRecord> sms, int max_warps_per_sm) {
  SmRecord all;
  for (const SmRecord& sm : sms) {
    all.active_cycles += sm.active_cycles;
    all.warp_cycles += sm.warp_cycles;
  }
  return all.achieved_pct(max_warps_per_sm);
}

std::vector<std::int64_t> replacement_latency_cycles(std::span<const BlockRecord> blocks) {
  std::map<std::uint32_t, std::vector<std::int64_t>> ends;
  for (const BlockRecord& block : blocks) ends[block.sm].push_back(block.end_cycles);
  for (auto& [sm, cycles] : ends) std::ranges::sort(cycles);
  std::vector<std::int64_t> gaps;
  for (const BlockRecord& block : blocks) {
    const std::vector<std::int64_t>& before = ends[block.sm];
    const auto later = std::ranges::upper_bound(before, block.start_cycles);
    if (later != before.begin()) gaps.push_back(block.start_cycles - *std::prev(later));
  }
  return gaps;
}

}  // namespace occbench
