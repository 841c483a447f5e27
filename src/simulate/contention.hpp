#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "simulate/draws.hpp"

namespace occbench {

/// A warp of a block, with the cycles that it would take alone.
struct ContendingWarp {
  double cycles;
  int warp;
};

/// Cycles for which always-issuing warps stay in lockstep, drawn log-uniformly. Consecutive seeds give values
/// far apart; seed 1 gives the middle one.
/// @param least, most  cycles, at least 1
double draw_lockstep_cycles(std::uint64_t seed, double least, double most);

/// How warps share a sub-partition's issue slots (one per cycle) or its busiest pipe.
///
/// As seen on an H200 (docs/prediction.md, "Issue slots and pipes"): a sub-partition serves blocks oldest
/// first and the warps of one block evenly, so a balanced issue-bound wave of small blocks reads 60 % and not
/// 100. An instruction that has begun is not interrupted: if two warps leave some slots free, three share all
/// slots evenly.
///
/// Warps that can issue in every cycle are served warp by warp. While they are in lockstep, an even number of
/// them shares issue slots equally; with an odd number the youngest stalls. After that the scheduler is
/// greedy: the two (sometimes three) oldest warps keep the slots until all of them have finished, whatever
/// their blocks. A warp that begins after another has ended is not in lockstep with the rest.
class IssueContention {
 public:
  /// Common to all sub-partitions of a launch.
  struct Rules {
    double full_speed_warps;  ///< warps that a sub-partition can serve at full speed
    bool always_issues;       ///< warps can issue in every cycle
    double lockstep_cycles;
    double greedy_of_three_share;  ///< of greedy groups; the others have two warps
    Draws draws;
    std::int64_t drawn = 0;  ///< greedy groups so far
  };

  /// Advances all warps to `clock`.
  void advance(double clock);

  /// The warps of a block begin now. @param warps  not empty
  void begin(int block, std::span<const ContendingWarp> warps, const Rules& rules);

  /// Removes the warps that finish now, appends their numbers and returns their block. Appends none if only
  /// shares change. @pre next_clock() is reached
  int finish(std::vector<int>& finished);

  /// Updates the speed of every warp.
  void serve(Rules& rules);

  bool empty() const {
    return groups_.empty();
  }
  /// Sum of the warps' speeds; a warp alone has speed 1.
  double speed() const {
    return speed_;
  }
  /// Clock of the next change if no block begins before. @pre not empty
  double next_clock() const {
    return updated_ + soonest_;
  }

 private:
  /// Warps of a block that progress equally, so the one with least work finishes first.
  struct Group {
    int block;
    std::vector<ContendingWarp> left;  ///< descending by cycles
    double done = 0;                   ///< cycles of progress of each
    double speed = 0;                  ///< of each
  };

  bool in_lockstep() const {
    return updated_ < lockstep_until_;
  }
  void serve_blocks_oldest_first(const Rules& rules);
  void serve_warps_oldest_first(Rules& rules);

  std::vector<Group> groups_;  ///< oldest first
  double lockstep_until_ = 0;
  bool has_ended_ = false;  ///< a warp has ended before: a later block is in lockstep only if alone
  double updated_ = 0;      ///< clock up to which progress is counted
  double speed_ = 0;
  double soonest_ = 0;      ///< from `updated_` to the next change
  std::size_t greedy_ = 0;  ///< number of oldest groups that are served until all have finished
  /// The group of the warp that finishes first if nothing changes; empty if shares change before.
  std::optional<std::size_t> next_;
};

/// Equal reads of device memory by many warps do not take equally long: they are spread evenly around their
/// mean, by up to the returned share. It is `most` if resident warps request at least twice the bandwidth,
/// and proportionally less below. On an H200 the spread grew up to twice the bandwidth and no further, with
/// blocks of any size, 6 to 100 % theoretical occupancy and 1 to 20 waves; other GPUs were not examined.
/// `most` is the parameter memory_spread; 0 switches the rule off.
double memory_spread(double bytes_per_cycle_asked, double bytes_per_cycle, double most);

/// Device memory is shared in proportion to demand, so it slows all warps alike. The model is a clock that
/// slows by demand over bandwidth; on that clock, each warp contends only for its sub-partition.
class MemoryContention {
 public:
  /// @param bytes_per_cycle_of_warp  demand of a warp alone; 0: the clock shows the time
  /// @param bytes_per_cycle          bandwidth of the device, above 0 unless that is 0
  MemoryContention(double bytes_per_cycle_of_warp, double bytes_per_cycle)
      : bytes_of_warp_(bytes_per_cycle_of_warp), bytes_per_cycle_(bytes_per_cycle) {}

  double clock() const {
    return clock_;
  }

  /// The time at which the clock shows `clock`, if demand stays as it is.
  double time_at(double clock) const;

  /// Advances to `time`, not before the present one.
  void pass_to(double time);
  /// Advances to `time`, when the clock shows `clock`.
  void pass_to(double time, double clock);

  /// Adds `speed` to the sum of the warps' speeds.
  void add_speed(double speed);

 private:
  double bytes_of_warp_;
  double bytes_per_cycle_;
  double speed_ = 0;
  double rate_ = 1;  ///< of the clock, at that speed
  double time_ = 0;
  double clock_ = 0;
};

/// Warps that contend for the issue slots of their sub-partition, or for one of its pipes, and for the
/// bandwidth of the device.
class Contention {
 public:
  /// Warps of one block and sub-partition that have finished together, by ContendingWarp::warp; none if only
  /// their shares have changed.
  struct Finished {
    double time;
    int block;
    std::span<const int> warps;  ///< valid until the next call
  };

  /// @param partitions  sub-partitions of the device
  Contention(int partitions, const IssueContention::Rules& rules, const MemoryContention& memory);

  /// A block's warps on one sub-partition begin at `time` (not before the last event).
  void begin(double time, int partition, int block, std::span<const ContendingWarp> warps);

  /// When the next warps finish if none begins before; infinity if none runs.
  double next_finish();

  /// Advances to that time.
  Finished finish_next();

 private:
  struct Partition {
    IssueContention warps;
    std::uint32_t version = 0;  ///< events of earlier versions no longer count
  };
  struct Event {
    double clock;
    int partition;
    std::uint32_t version;
    bool operator>(const Event& other) const {
      return clock > other.clock;
    }
  };

  Partition& at(int partition) {
    return partitions_[static_cast<std::size_t>(partition)];
  }
  void schedule(int partition);

  IssueContention::Rules rules_;
  MemoryContention memory_;
  std::vector<Partition> partitions_;
  std::vector<int> finished_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace occbench
