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

/// For how long warps that can always issue stay in lockstep, drawn evenly by its logarithm. Seeds of one
/// series are far from one another, and the first one, 1, is in the middle.
/// @param least, most  cycles, at least 1
double draw_lockstep_cycles(std::uint64_t seed, double least, double most);

/// How warps share a sub-partition's issue slots, one a cycle, or its busiest pipe.
///
/// As seen on an H200 (docs/prediction.md, "Issue slots and pipes"): a sub-partition serves blocks oldest
/// first and the warps of one block evenly, so a balanced issue-bound wave of small blocks reads 60 % and not
/// 100. An instruction that has begun is not interrupted: where two warps leave a rest of the slots, three
/// share them evenly.
///
/// Warps that can issue in every cycle are served warp by warp. While they are in lockstep, an even number of
/// them shares issue slots equally; with an odd number the youngest stalls. After that the scheduler is
/// greedy: the two oldest, now and then three, have the slots until all of them have finished, whichever
/// blocks they belong to. A warp that comes after others have ended is not in lockstep with them.
class IssueContention {
 public:
  /// What all sub-partitions of a launch have in common.
  struct Rules {
    double full_speed_warps;  ///< warps that a sub-partition can serve at full speed
    bool always_issues;       ///< warps can issue in every cycle
    double lockstep_cycles;
    double greedy_of_three_share;  ///< of the greedy groups of oldest warps; the others have two
    Draws draws;
    std::int64_t drawn = 0;  ///< greedy groups so far
  };

  /// Progress of all warps up to `clock`.
  void advance(double clock);

  /// The warps of a block begin now. @param warps  not empty
  void begin(int block, std::span<const ContendingWarp> warps, const Rules& rules);

  /// Takes out the warps that finish now and appends their numbers; gives their block. None where only shares
  /// change. @pre next_clock() has come
  int finish(std::vector<int>& finished);

  /// Decides again who is served how fast.
  void serve(Rules& rules);

  bool empty() const {
    return groups_.empty();
  }
  /// Sum of the warps' speeds, warps' worth of progress a cycle.
  double speed() const {
    return speed_;
  }
  /// When something changes if no block begins before. @pre not empty
  double next_clock() const {
    return updated_ + soonest_;
  }

 private:
  /// A block's warps that progress alike, so the one with least to do is done first.
  struct Group {
    int block;
    std::vector<ContendingWarp> left;  ///< descending by cycles
    double done = 0;                   ///< cycles that each of them has got on by
    double speed = 0;                  ///< of each
  };

  bool in_lockstep() const {
    return updated_ < lockstep_until_;
  }
  void serve_blocks_oldest_first(const Rules& rules);
  void serve_warps_oldest_first(Rules& rules);

  std::vector<Group> groups_;  ///< oldest first
  double lockstep_until_ = 0;
  bool has_ended_ = false;  ///< a warp has, ever: a later block is in lockstep only if it is alone there
  double updated_ = 0;      ///< up to when progress is counted
  double speed_ = 0;
  double soonest_ = 0;      ///< from `updated_` to the next change
  std::size_t greedy_ = 0;  ///< of the oldest groups, those that are served until all have finished
  /// The group of the warp that finishes first if nothing changes; empty if shares change before.
  std::optional<std::size_t> next_;
};

/// Equal reads of device memory by many warps do not take equally long: evenly spread around their mean: by up to
/// `most` of it where resident warps ask for twice what the memory can move or more, by less in proportion
/// where they ask for less. The spread grew up to twice the bandwidth and no further on an H200, with blocks of
/// any size, 6 to 100 % theoretical occupancy and 1 to 20 waves; other GPUs were not looked at. `most` is the
/// parameter memory_spread, and 0 switches the rule off.
double memory_spread(double bytes_per_cycle_asked, double bytes_per_cycle, double most);

/// Device memory is shared in proportion to demand, so it slows all warps alike: a clock that runs as much
/// slower as they ask for more than it can move, on which each warp only contends for its sub-partition.
class MemoryContention {
 public:
  /// @param bytes_per_cycle_of_warp  what a warp alone asks for; 0: the clock keeps time
  /// @param bytes_per_cycle          what the device can move, above 0 unless that is 0
  MemoryContention(double bytes_per_cycle_of_warp, double bytes_per_cycle)
      : bytes_of_warp_(bytes_per_cycle_of_warp), bytes_per_cycle_(bytes_per_cycle) {}

  double clock() const {
    return clock_;
  }

  /// The time at which the clock shows `clock`, if demand stays as it is.
  double time_at(double clock) const;

  /// Goes on to `time`, not before the present one.
  void pass_to(double time);
  /// Goes on to `time`, when the clock shows `clock`.
  void pass_to(double time, double clock);

  /// Demand changes by so many warps' worth of progress a cycle.
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
  /// Warps of one block and sub-partition that have finished together, by the numbers they were given; none
  /// where only their shares have changed.
  struct Finished {
    double time;
    int block;
    std::span<const int> warps;  ///< until the next call
  };

  /// @param partitions  sub-partitions of the device
  Contention(int partitions, const IssueContention::Rules& rules, const MemoryContention& memory);

  /// The warps of a block that are on a sub-partition begin at `time` (not before the last event).
  void begin(double time, int partition, int block, std::span<const ContendingWarp> warps);

  /// When the next warps finish if none begins before; infinity if none runs.
  double next_finish();

  /// Goes on to that time.
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
