#include "simulate/block_execution.hpp"

namespace occbench {
namespace {

IssueContention::Rules issue_rules(const Execution& execution, const DeviceParameters& parameters) {
  const double lockstep = execution.tasks.lockstep_cycles().value_or(draw_lockstep_cycles(
      execution.draws.seed(), parameters.lockstep_least_cycles, parameters.lockstep_most_cycles));
  const Rates alone = execution.tasks.rates();
  return {1 / std::max(alone.issue, alone.pipe), alone.always_issues(parameters.always_issuing_share),
          lockstep * execution.tasks.stretch(), parameters.greedy_of_three_share, execution.draws};
}

int partitions_of(const Limits& limits) {
  return std::clamp(limits.sub_partitions, 1, WarpSlots::kMaxPartitions);
}

/// Warps that one sub-partition can hold, by the SM's warp limit and by its registers. Never fewer than the
/// SM's blocks need: registers are allocated to blocks instead of warps on 1.x and shared by sub-partitions
/// on 2.x.
int slots_of_partition(const Limits& limits, const Occupancy& occupancy, int partitions) {
  const int by_warps = limits.max_warps_per_sm / partitions;
  if (occupancy.registers_per_block == 0) return by_warps;
  const int registers_per_warp =
      (occupancy.registers_per_block + occupancy.warps_per_block - 1) / occupancy.warps_per_block;
  const int needed = (occupancy.blocks_per_sm * occupancy.warps_per_block + partitions - 1) / partitions;
  return std::max(needed, std::min(by_warps, limits.registers_per_sm / partitions / registers_per_warp));
}

}  // namespace

int most_warps(const Limits& limits, const Occupancy& occupancy) {
  const int partitions = partitions_of(limits);
  const BlockLimits& blocks = occupancy.block_limits;
  return std::min(
      partitions * slots_of_partition(limits, occupancy, partitions),
      std::min({blocks.blocks, blocks.shared_memory, blocks.barriers}) * occupancy.warps_per_block);
}

ContendingBlocks::ContendingBlocks(const Execution& execution, const DeviceParameters& parameters,
                                   std::int64_t resident_blocks)
    : execution_(execution),
      contention_(static_cast<int>(execution.sms.size()) * execution.slots.partitions(),
                  issue_rules(execution, parameters),
                  MemoryContention(execution.tasks.rates().bytes, parameters.bytes_per_cycle)),
      memory_spread_(
          memory_spread(execution.tasks.rates().bytes *
                            static_cast<double>(std::min(execution.tasks.grid_blocks(), resident_blocks) *
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
  const Tasks& tasks = execution_.tasks;
  const double block_cycles = tasks.block_cycles(running.block);
  const double slowness = execution_.sm(running.sm).traits().slowness;
  const int partitions = execution_.slots.partitions();
  for (int partition = 0; partition < partitions; ++partition) {
    warps_.clear();
    for (int warp = 0; warp < execution_.rules.warps_per_block; ++warp) {
      if (open.slots[static_cast<std::size_t>(warp)].partition != partition) continue;
      const double cycles =
          tasks.differ_within_blocks() ? tasks.warp_cycles(running.block, warp) : block_cycles;
      warps_.push_back({cycles * slowness * memory_chance(running, warp), warp});
    }
    if (warps_.empty()) continue;
    contention_.begin(begin.time, running.sm * partitions + partition, begin.open, warps_);
  }
}

/// Random factor on the time of a warp that moves bytes.
double ContendingBlocks::memory_chance(const RunningBlock& running, int warp) const {
  if (memory_spread_ == 0) return 1;
  const std::int64_t of_grid = running.block * execution_.rules.warps_per_block + warp;
  return 1 + memory_spread_ * (2 * execution_.draws.unit(Draws::Stream::memory, of_grid) - 1);
}

void ContendingBlocks::finish_warps(std::vector<EndedBlock>& ended) {
  const Contention::Finished finished = contention_.finish_next();
  Open& open = open_[static_cast<std::size_t>(finished.block)];
  const int sm = open.running.sm;
  for (const int warp : finished.warps) {
    execution_.slots.free_at(sm, open.slots[static_cast<std::size_t>(warp)], finished.time);
  }
  const int warps = static_cast<int>(finished.warps.size());
  execution_.residency.add_warps(execution_.sm(sm), open.running.launched.start, finished.time, warps);
  open.warps_left -= warps;
  if (open.warps_left > 0) return;
  OnSm& on_sm = on_sm_[static_cast<std::size_t>(sm)];
  --on_sm.blocks;
  execution_.sm(sm).active.add(on_sm.since, finished.time);
  execution_.residency.add_block(execution_.sm(sm), {sm, open.running.launched.start, finished.time});
  ended.push_back({finished.time, sm});
  free_.push_back(finished.block);
}

IndependentBlocks::IndependentBlocks(const Execution& execution, bool by_warp)
    : execution_(execution), by_warp_(by_warp) {
  if (execution.tasks.poll_cycles_per_warp() == 0) return;
  // The latest of n uniform draws from 0 to 1 is distributed as the n-th root of one draw.
  for (std::size_t i = 0; i < latest_warp_.size(); ++i) {
    const double draw = (static_cast<double>(i) + 0.5) / static_cast<double>(latest_warp_.size());
    latest_warp_[i] = portable_exp(portable_log(draw) / execution.rules.warps_per_block);
  }
  last_ends_.assign(execution.sms.size() * static_cast<std::size_t>(execution.rules.blocks_per_sm),
                    -std::numeric_limits<double>::infinity());
}

double IndependentBlocks::run(const RunningBlock& running) {
  Sm& sm = execution_.sm(running.sm);
  const int warps = execution_.rules.warps_per_block;
  const double begin = running.launched.start;
  const double due = running.work_begin + execution_.tasks.block_cycles(running.block) * sm.traits().slowness;
  const double latest = latest_lateness(running, due);
  double end = 0;
  if (by_warp_) {
    end = run_warps(running, latest);
  } else {
    const double late = latest * chance_of_latest_warp(running);
    end = due + late;
    // The mean of n uniform draws whose latest is known.
    const double early = late * (warps - 1) / (2 * warps);
    execution_.residency.add_warps(sm, begin, end - early, warps);
  }
  if (!last_ends_.empty()) {
    const int blocks = execution_.rules.blocks_per_sm;
    last_ends_[static_cast<std::size_t>(running.sm * blocks + running.launched.number % blocks)] = end;
  }
  sm.active.add(begin, end);
  return end;
}

/// Warps that wait for a clock each read it once per round over all warps of the SM, so each is up to one
/// round late.
double IndependentBlocks::latest_lateness(const RunningBlock& running, double due) const {
  const double poll = execution_.tasks.poll_cycles_per_warp();
  if (poll == 0) return 0;
  return poll * polling_blocks(running, due) * execution_.rules.warps_per_block;
}

/// A block of equal warps is as late as its latest warp.
double IndependentBlocks::chance_of_latest_warp(const RunningBlock& running) const {
  return latest_warp_[execution_.draws.poll(running.block, latest_warp_.size())];
}

/// Polling blocks of an SM at `now`: blocks that ended within the replacement latency have not been replaced
/// yet.
int IndependentBlocks::polling_blocks(const RunningBlock& running, double now) const {
  const Sm& sm = execution_.sm(running.sm);
  const int of_first_wave = sm.traits().first_wave_blocks;
  const int most =
      std::max(sm.resident_blocks(), running.launched.number < of_first_wave ? of_first_wave : 0);
  const int blocks = execution_.rules.blocks_per_sm;
  const double* const ends = &last_ends_[static_cast<std::size_t>(running.sm * blocks)];
  const double since = now - sm.traits().replacement_latency_cycles;
  int gone = 0;
  for (int block = 0; block < blocks; ++block) gone += (ends[block] > since) & (ends[block] < now);
  return std::max(1, most - gone);
}

double IndependentBlocks::run_warps(const RunningBlock& running, double latest) {
  const Tasks& tasks = execution_.tasks;
  const int warps = execution_.rules.warps_per_block;
  const double begin = running.launched.start;
  execution_.slots.take(running.sm, begin, slots_of_warps_);
  const double slowness = execution_.sm(running.sm).traits().slowness;
  const double block_cycles = tasks.block_cycles(running.block);
  const bool differ = tasks.differ_within_blocks();
  double last = begin;
  for (int warp = 0; warp < warps; ++warp) {
    const double cycles = differ ? tasks.warp_cycles(running.block, warp) : block_cycles;
    const double late =
        latest == 0 ? 0 : latest * execution_.draws.unit(Draws::Stream::poll, running.block * warps + warp);
    const double end = running.work_begin + cycles * slowness + late;
    execution_.slots.free_at(running.sm, slots_of_warps_[static_cast<std::size_t>(warp)], end);
    execution_.residency.add_warps(execution_.sm(running.sm), begin, end, 1);
    last = std::max(last, end);
  }
  return last;
}

WarpSlots::WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count)
    : partitions_(static_cast<std::size_t>(partitions_of(limits))),
      slots_(static_cast<std::size_t>(slots_of_partition(limits, occupancy, static_cast<int>(partitions_)))),
      warps_per_block_(occupancy.warps_per_block),
      ends_(static_cast<std::size_t>(sm_count) * partitions_ * slots_),
      next_partition_(static_cast<std::size_t>(sm_count)) {}

int WarpSlots::blocks_that_fit(int sm, double now) const {
  // After n blocks, the sub-partition `place` after the first has ceil((n * warps - place) / partitions) more
  // warps.
  const auto first = static_cast<std::size_t>(next_partition_[static_cast<std::size_t>(sm)]);
  std::size_t blocks = std::numeric_limits<std::size_t>::max();
  for (std::size_t place = 0; place < partitions_; ++place) {
    const double* ends = ends_.data() + at(sm, static_cast<int>((first + place) % partitions_));
    std::size_t free = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) free += ends[slot] <= now;
    blocks = std::min(blocks, (partitions_ * free + place) / static_cast<std::size_t>(warps_per_block_));
  }
  return static_cast<int>(blocks);
}

void WarpSlots::take(int sm, double now, std::vector<Slot>& of_warps) {
  const int partitions = static_cast<int>(partitions_);
  int& next = next_partition_[static_cast<std::size_t>(sm)];
  const int first = next;
  next = (next + warps_per_block_) % partitions;
  of_warps.resize(static_cast<std::size_t>(warps_per_block_));
  for (int partition = 0; partition < partitions; ++partition) {
    const std::size_t base = at(sm, partition);
    int slot = 0;
    for (int warp = (partition - first + partitions) % partitions; warp < warps_per_block_;
         warp += partitions) {
      while (ends_[base + static_cast<std::size_t>(slot)] > now) ++slot;
      ends_[base + static_cast<std::size_t>(slot)] = std::numeric_limits<double>::infinity();
      of_warps[static_cast<std::size_t>(warp)] = {partition, slot++};
    }
  }
}

}  // namespace occbench
