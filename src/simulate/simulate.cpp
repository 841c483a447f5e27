#include "simulate/simulate.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "simulate/block_execution.hpp"
#include "simulate/dispatcher.hpp"
#include "simulate/draws.hpp"

namespace occbench {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A block ended; the dispatcher is notified at `time`.
struct Completion {
  double time;
  double end;
  int sm;
};

class Simulator {
 public:
  Simulator(const Limits& limits, const Occupancy& occupancy, int cluster_blocks, const DeviceModel& device,
            const Tasks& tasks, std::uint64_t seed, std::vector<BlockSpan>* spans)
      : device_(device),
        tasks_(tasks),
        draws_(seed),
        cluster_blocks_(cluster_blocks),
        rules_(device.parameters, limits, occupancy),
        // If blocks fill whole rows of sub-partitions and their warps end together, counting blocks gives the
        // same result. Warp slots do not model register pools (3.7), so blocks are counted there, too.
        by_warp_(tasks.differ_within_blocks() || tasks.contends() ||
                 (occupancy.warps_per_block % std::max(1, limits.sub_partitions) != 0 &&
                  limits.register_pools == 1)),
        // A block keeps shared memory, barriers and its slot until it ends; warps free theirs one by one.
        most_blocks_(by_warp_ ? std::min({occupancy.block_limits.blocks, occupancy.block_limits.shared_memory,
                                          occupancy.block_limits.barriers})
                              : occupancy.blocks_per_sm),
        // Clusters go to the SMs with most room, which spreads them.
        wave_(first_wave(device.topology, occupancy.blocks_per_sm, tasks.grid_blocks(),
                         cluster_blocks == 1 && device.parameters.even_first_wave != 0)),
        dispatcher_(device.topology, static_cast<int>(seed % device.topology.gpc_sms().size()),
                    static_cast<int>(device.parameters.gpcs_between_singletons)),
        sms_(sms_of(device, wave_, draws_, tasks.stretch())),
        slots_(limits, occupancy, device.topology.sm_count()),
        skipped_(skipped(occupancy)),
        residency_(skipped_, spans),
        execution_{tasks_, draws_, rules_, sms_, slots_, residency_} {
    dispatcher_.begin(wave_);
    if (tasks.contends()) {
      contending_.emplace(execution_, device.parameters,
                          full_wave_blocks(occupancy, device.topology.sm_count()));
    } else {
      independent_.emplace(execution_, by_warp_);
    }
  }

  Simulation run() {
    for (std::int64_t block = 0; block < skipped_.simulated_blocks; block += cluster_blocks_) {
      residency_.before(block, now_, sms_);
      if (cluster_blocks_ == 1) {
        wait_until([&] { return dispatcher_.total() > 0; });
        start(block, dispatcher_.next());
        continue;
      }
      const std::vector<int>* sms = nullptr;
      wait_until([&] { return !(sms = &dispatcher_.next_cluster(cluster_blocks_))->empty(); });
      for (std::size_t i = 0; i < sms->size(); ++i) start(block + static_cast<std::int64_t>(i), (*sms)[i]);
    }
    while (next_contending() < kNever) {
      now_ = std::max(now_, next_contending());
      pass_events();
    }
    while (!completions_.empty()) complete();
    return residency_.result(sms_, rules_.max_warps);
  }

 private:
  SkippedWaves skipped(const Occupancy& occupancy) const {
    const std::int64_t wave = full_wave_blocks(occupancy, device_.topology.sm_count());
    if (!tasks_.all_equal()) return {tasks_.grid_blocks(), wave, 0};
    return skipped_waves(tasks_.grid_blocks(), wave / cluster_blocks_ * cluster_blocks_);
  }

  void wait_until(auto&& has_room) {
    pass_events();
    while (!has_room()) {
      now_ = std::max(now_, std::min(next_completion(), next_contending()));
      dispatch_interval_ = device_.parameters.replacement_dispatch_cycles_per_block;
      pass_events();
    }
  }

  double next_contending() const {
    return contending_ ? contending_->next_event() : kNever;
  }
  double next_completion() const {
    return completions_.empty() ? kNever : completions_.top().time;
  }

  /// Processes all events up to now, in order.
  void pass_events() {
    if (!contending_) {
      while (next_completion() <= now_) complete();
      return;
    }
    while (true) {
      const double contending = contending_->next_event();
      if (std::min(contending, next_completion()) > now_) return;
      if (contending <= next_completion()) {
        pass_contending();
      } else {
        complete();
      }
    }
  }

  void pass_contending() {
    ended_.clear();
    contending_->pass_event(ended_);
    for (const EndedBlock& ended : ended_) push_completion(ended);
  }

  void push_completion(const EndedBlock& ended) {
    const double latency = sms_[static_cast<std::size_t>(ended.sm)].traits().replacement_latency_cycles;
    completions_.push({ended.time + latency, ended.time, ended.sm});
  }

  /// Notifies the dispatcher of a block that ended.
  void complete() {
    const Completion ended = completions_.top();
    completions_.pop();
    Sm& sm = sms_[static_cast<std::size_t>(ended.sm)];
    sm.release();
    notice_room(ended.sm, ended.end);
    if (!by_warp_ || device_.parameters.sibling_notices_room == 0) return;
    if (const std::optional<int> sibling = device_.topology.sibling(ended.sm)) {
      notice_room(*sibling, ended.end);
    }
  }

  void notice_room(int sm, double now) {
    const int blocks = most_blocks_ - sms_[static_cast<std::size_t>(sm)].resident_blocks();
    dispatcher_.set_room(sm, by_warp_ ? std::min(blocks, slots_.blocks_that_fit(sm, now)) : blocks);
  }

  void start(std::int64_t block, int index) {
    const Sm::Launched launched = sms_[static_cast<std::size_t>(index)].launch(now_, rules_);
    now_ += dispatch_interval_;
    const RunningBlock running{block, index, launched,
                               launched.start + device_.parameters.launch_overhead_cycles};
    if (contending_) {
      contending_->run(running);
    } else {
      const double end = independent_->run(running);
      residency_.add_block(sms_[static_cast<std::size_t>(index)], {index, launched.start, end});
      push_completion({end, index});
    }
  }

  const DeviceModel& device_;
  const Tasks& tasks_;
  Draws draws_;
  int cluster_blocks_;
  SmRules rules_;
  bool by_warp_;
  int most_blocks_;
  double dispatch_interval_ = 0;  ///< between two blocks; 0 in the first wave
  double now_ = 0;
  FirstWave wave_;
  Dispatcher dispatcher_;
  std::vector<Sm> sms_;
  WarpSlots slots_;
  SkippedWaves skipped_;
  Residency residency_;
  Execution execution_;
  std::optional<IndependentBlocks> independent_;
  std::optional<ContendingBlocks> contending_;
  EventQueue<Completion> completions_;
  std::vector<EndedBlock> ended_;
};

/// @throws InputError as simulate()
void check_grid(const Launch& launch, const Topology& topology) {
  constexpr std::int64_t kMaxGridBlocks = (std::int64_t{1} << 31) - 1;  // gridDim.x (CUDA programming guide)
  if (launch.grid_blocks < 1 || launch.grid_blocks > kMaxGridBlocks) {
    throw InputError(fmt::format("grid_blocks = {} is out of range: CUDA allows 1 to {} blocks",
                                 launch.grid_blocks, kMaxGridBlocks));
  }
  check_whole_clusters(launch);
  const int most_sms = std::ranges::max(topology.gpc_sms());
  if (launch.cluster_blocks > 1 && launch.cluster_blocks > most_sms) {
    throw InputError(
        fmt::format("a cluster of {} blocks does not fit: it needs as many SMs of one GPC, and the largest "
                    "has {}",
                    launch.cluster_blocks, most_sms));
  }
}

}  // namespace

Simulation simulate(const Launch& launch, const Usage& usage, const Limits& limits, const DeviceModel& device,
                    const Tasks& tasks, std::uint64_t seed, std::vector<BlockSpan>* spans) {
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  if (occupancy.blocks_per_sm == 0) throw InputError(why_it_cannot_launch(limits, launch, usage));
  check_grid(launch, device.topology);
  return Simulator(limits, occupancy, launch.cluster_blocks, device, tasks, seed, spans).run();
}

}  // namespace occbench
