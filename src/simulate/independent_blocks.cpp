#include <algorithm>
#include <limits>

#include "simulate/block_execution.hpp"
#include "simulate/portable_math.hpp"

namespace occbench {

IndependentBlocks::IndependentBlocks(const Execution& execution, bool by_warp)
    : execution_(execution), by_warp_(by_warp) {
  if (execution.workload.poll_cycles_per_warp() == 0) return;
  // The latest of n even draws from 0 to 1 is the n-th root of one.
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
  const double due =
      running.work_begin + execution_.workload.block_cycles(running.block) * sm.traits().slowness;
  const double late = lateness(running, due);
  // The mean of n even draws of which the latest is known.
  const double early = late * (warps - 1) / (2 * warps);
  double end = due + late;
  if (by_warp_) {
    end = run_warps(running, begin, late, early);
  } else {
    execution_.residency.add_warps(begin, end - early, warps);
  }
  if (!last_ends_.empty()) {
    const int blocks = execution_.rules.blocks_per_sm;
    last_ends_[static_cast<std::size_t>(running.sm * blocks + running.launched.number % blocks)] = end;
  }
  sm.active.add(begin, end);
  return end;
}

/// Warps that wait for their time to come look at the clock once in as long as all warps of the SM take for
/// it. A block is late by the latest of its warps.
double IndependentBlocks::lateness(const RunningBlock& running, double due) const {
  const double poll = execution_.workload.poll_cycles_per_warp();
  if (poll == 0) return 0;
  const double chance = latest_warp_[execution_.draws.poll(running.block, latest_warp_.size())];
  return poll * polling_blocks(running, due) * execution_.rules.warps_per_block * chance;
}

/// Those of an SM at a time: where several end in short order, none has taken their places yet.
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

double IndependentBlocks::run_warps(const RunningBlock& running, double begin, double late, double early) {
  const Workload& workload = execution_.workload;
  execution_.slots.take(running.sm, begin, slots_of_warps_);
  const double slowness = execution_.sm(running.sm).traits().slowness;
  const double block_cycles = workload.block_cycles(running.block);
  const bool differ = workload.differ_within_blocks();
  double last = begin;
  for (int warp = 0; warp < execution_.rules.warps_per_block; ++warp) {
    const double cycles = differ ? workload.warp_cycles(running.block, warp) : block_cycles;
    const double end = running.work_begin + late + cycles * slowness;
    execution_.slots.free_at(running.sm, slots_of_warps_[static_cast<std::size_t>(warp)], end);
    execution_.residency.add_warps(begin, end - early, 1);
    last = std::max(last, end);
  }
  return last;
}

}  // namespace occbench
