#include <algorithm>
#include <limits>

#include "simulate/block_execution.hpp"

namespace occbench {
namespace {

IssueContention::Rules issue_rules(const Execution& execution, const DeviceParameters& parameters) {
  const double lockstep = execution.workload.lockstep_cycles().value_or(draw_lockstep_cycles(
      execution.draws.seed(), parameters.lockstep_least_cycles, parameters.lockstep_most_cycles));
  const Rates alone = execution.workload.rates();
  return IssueContention::rules(alone, alone.always_issues(parameters.always_issuing_share), lockstep,
                                GreedyGroups(parameters.greedy_of_three_share, execution.draws));
}

}  // namespace

ContendingBlocks::ContendingBlocks(const Execution& execution, const DeviceParameters& parameters,
                                   std::int64_t resident_blocks)
    : execution_(execution),
      contention_(static_cast<int>(execution.sms.size()) * execution.slots.partitions(),
                  issue_rules(execution, parameters),
                  MemoryContention(execution.workload.rates().bytes, parameters.bytes_per_cycle)),
      memory_spread_(
          memory_spread(execution.workload.rates().bytes *
                            static_cast<double>(std::min(execution.workload.grid_blocks(), resident_blocks) *
                                                execution.rules.warps_per_block),
                        parameters.bytes_per_cycle, parameters.memory_spread)),
      on_sm_(execution.sms.size()) {}

void ContendingBlocks::run(const RunningBlock& running) {
  int index = static_cast<int>(open_.size());
  if (free_.empty()) {
    open_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Open& open = open_[static_cast<std::size_t>(index)];
  open.running = running;
  open.warps_left = execution_.rules.warps_per_block;
  execution_.slots.take(running.sm, running.launched.start, open.slots);
  OnSm& on_sm = on_sm_[static_cast<std::size_t>(running.sm)];
  if (on_sm.blocks++ == 0) on_sm.since = running.launched.start;
  beginning_.push({running.work_begin, index});
  find_next_begin();
}

void ContendingBlocks::find_next_begin() {
  next_begin_ = beginning_.empty() ? std::numeric_limits<double>::infinity() : beginning_.top().time;
}

void ContendingBlocks::pass_event(std::vector<EndedBlock>& ended) {
  if (next_begin_ < next_finish_) {
    begin_work();
    find_next_begin();
  } else {
    finish_warps(ended);
  }
  next_finish_ = contention_.next_finish();
}

void ContendingBlocks::begin_work() {
  const WorkBegin begin = beginning_.top();
  beginning_.pop();
  const Open& open = open_[static_cast<std::size_t>(begin.open)];
  const RunningBlock& running = open.running;
  const Workload& workload = execution_.workload;
  const double block_cycles = workload.block_cycles(running.block);
  const double slowness = execution_.sm(running.sm).traits().slowness;
  const int partitions = execution_.slots.partitions();
  for (int partition = 0; partition < partitions; ++partition) {
    warps_.clear();
    for (int warp = 0; warp < execution_.rules.warps_per_block; ++warp) {
      if (open.slots[static_cast<std::size_t>(warp)].partition != partition) continue;
      const double cycles =
          workload.differ_within_blocks() ? workload.warp_cycles(running.block, warp) : block_cycles;
      warps_.push_back({cycles * slowness * memory_chance(running, warp), warp});
    }
    if (warps_.empty()) continue;
    contention_.begin(begin.time, running.sm * partitions + partition, begin.open, warps_);
  }
}

/// What a warp that moves bytes takes longer or shorter than it should.
double ContendingBlocks::memory_chance(const RunningBlock& running, int warp) const {
  if (memory_spread_ == 0) return 1;
  const std::int64_t of_grid = running.block * execution_.rules.warps_per_block + warp;
  return 1 + memory_spread_ * (2 * execution_.draws.memory(of_grid) - 1);
}

void ContendingBlocks::finish_warps(std::vector<EndedBlock>& ended) {
  const Contention::Finished finished = contention_.finish_next();
  Open& open = open_[static_cast<std::size_t>(finished.block)];
  const int sm = open.running.sm;
  for (const int warp : finished.warps) {
    execution_.slots.free_at(sm, open.slots[static_cast<std::size_t>(warp)], finished.time);
  }
  const int warps = static_cast<int>(finished.warps.size());
  execution_.residency.add_warps(open.running.launched.start, finished.time, warps);
  open.warps_left -= warps;
  if (open.warps_left > 0) return;
  OnSm& on_sm = on_sm_[static_cast<std::size_t>(sm)];
  if (--on_sm.blocks == 0) execution_.sm(sm).active.add(on_sm.since, finished.time);
  execution_.residency.add_block({sm, open.running.launched.start, finished.time});
  ended.push_back({finished.time, sm});
  free_.push_back(finished.block);
}

}  // namespace occbench
