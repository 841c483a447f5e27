#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "occupancy/occupancy.hpp"
#include "simulate/contention.hpp"
#include "simulate/draws.hpp"
#include "simulate/residency.hpp"
#include "simulate/work.hpp"

namespace occbench {

/// The warp slots of all SMs, by sub-partition.
///
/// As seen on an H200 (docs/prediction.md, "Room of exited warps"): an exited warp's slot and registers are
/// free at once, but an SM takes new blocks only when a block ends. Warps go to the sub-partitions round
/// robin, and each block continues after the previous block of that SM. While the next sub-partitions are
/// full, the block waits, even if others have room.
class WarpSlots {
 public:
  static constexpr int kMaxPartitions = 4;

  WarpSlots(const Limits& limits, const Occupancy& occupancy, int sm_count);

  /// Blocks that fit into the free slots of an SM at `now`.
  int blocks_that_fit(int sm, double now) const;

  /// Where a warp is resident.
  struct Slot {
    int partition;
    int index;  ///< within its sub-partition
  };

  /// Assigns slots that are free at `now` to the warps of a block; there must be room. They stay taken until
  /// `free_at`.
  void take(int sm, double now, std::vector<Slot>& of_warps);

  /// A warp's slot is free from `time` on.
  void free_at(int sm, Slot slot, double time) {
    ends_[at(sm, slot.partition) + static_cast<std::size_t>(slot.index)] = time;
  }

  int partitions() const {
    return static_cast<int>(partitions_);
  }

 private:
  std::size_t at(int sm, int partition) const {
    return (static_cast<std::size_t>(sm) * partitions_ + static_cast<std::size_t>(partition)) * slots_;
  }

  std::size_t partitions_;
  std::size_t slots_;  ///< per sub-partition, as many as registers and warp limit allow
  int warps_per_block_;
  std::vector<double> ends_;
  std::vector<int> next_partition_;  ///< by SM, for the next block's first warp
};

/// Most warps that an SM holds if warps exit one by one: each frees its slot and registers, but not shared
/// memory, barriers and the block's own slot.
int most_warps(const Limits& limits, const Occupancy& occupancy);

/// A binary heap of events, earliest `time` first. Unlike std::priority_queue, it orders events of equal time
/// the same way on every machine. The choice of the child that moves up is not a branch, because it is
/// unpredictable.
template <typename Event>
class EventQueue {
 public:
  bool empty() const {
    return events_.empty();
  }
  const Event& top() const {
    return events_.front();
  }

  void push(const Event& event) {
    events_.push_back(event);
    rise(events_.size() - 1, event);
  }

  void pop() {
    const Event last = events_.back();
    events_.pop_back();
    if (events_.empty()) return;
    // The hole at the top moves down to a leaf along the earlier children. The last event rises from there:
    // it is seldom early.
    const std::size_t size = events_.size();
    std::size_t hole = 0;
    std::size_t child = 2;
    for (; child < size; child = 2 * hole + 2) {
      child -= static_cast<std::size_t>(events_[child - 1].time < events_[child].time);
      events_[hole] = events_[child];
      hole = child;
    }
    if (child == size) {
      events_[hole] = events_[child - 1];
      hole = child - 1;
    }
    rise(hole, last);
  }

 private:
  void rise(std::size_t hole, const Event& event) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (events_[parent].time <= event.time) break;
      events_[hole] = events_[parent];
      hole = parent;
    }
    events_[hole] = event;
  }

  std::vector<Event> events_;
};

/// A block that an SM has launched.
struct RunningBlock {
  std::int64_t block;
  int sm;
  Sm::Launched launched;
  double work_begin;  ///< when its warps begin their work
};

/// The last warp of a block has ended.
struct EndedBlock {
  double time;
  int sm;
};

/// Shared by the blocks of a launch while they run.
struct Execution {
  const Tasks& tasks;
  const Draws& draws;
  const SmRules& rules;
  std::vector<Sm>& sms;
  WarpSlots& slots;
  Residency& residency;

  Sm& sm(int index) const {
    return sms[static_cast<std::size_t>(index)];
  }
};

/// Blocks whose warps do not contend: their ends are known when they begin.
class IndependentBlocks {
 public:
  /// @param by_warp  warps free their slots one by one
  IndependentBlocks(const Execution& execution, bool by_warp);

  /// Runs a block and returns its end time.
  double run(const RunningBlock& running);

 private:
  double latest_lateness(const RunningBlock& running, double due) const;
  double chance_of_latest_warp(const RunningBlock& running) const;
  int polling_blocks(const RunningBlock& running, double now) const;
  double run_warps(const RunningBlock& running, double latest);

  Execution execution_;
  bool by_warp_;
  std::array<double, 256> latest_warp_{};  ///< equally likely delays of a block's latest warp, 0 to 1
  std::vector<double> last_ends_;          ///< of the last blocks_per_sm blocks, by SM
  std::vector<WarpSlots::Slot> slots_of_warps_;
};

/// Blocks whose warps contend: each end depends on the other resident warps.
class ContendingBlocks {
 public:
  /// @param resident_blocks  that the device holds at once
  ContendingBlocks(const Execution& execution, const DeviceParameters& parameters,
                   std::int64_t resident_blocks);

  void run(const RunningBlock& running);

  /// Time of the next event if no block begins before; infinity if none runs.
  double next_event() const {
    return std::min(next_begin_, next_finish_);
  }

  /// Processes it and appends the blocks that have ended to `ended`.
  void pass_event(std::vector<EndedBlock>& ended);

 private:
  struct Open {
    RunningBlock running;
    int warps_left;
    std::vector<WarpSlots::Slot> slots;  ///< of its warps
  };
  /// An open block's warps begin their work.
  struct WorkBegin {
    double time;
    int open;
  };
  struct OnSm {
    int blocks = 0;
    double since = 0;  ///< when it last had none
  };

  double memory_chance(const RunningBlock& running, int warp) const;
  void find_next_begin();
  void begin_work();
  void finish_warps(std::vector<EndedBlock>& ended);

  Execution execution_;
  Contention contention_;
  double memory_spread_;
  std::vector<Open> open_;
  std::vector<int> free_;  ///< unused entries of open_
  std::vector<OnSm> on_sm_;
  EventQueue<WorkBegin> beginning_;
  std::vector<ContendingWarp> warps_;
  double next_begin_ = std::numeric_limits<double>::infinity();
  double next_finish_ = std::numeric_limits<double>::infinity();
};

}  // namespace occbench
