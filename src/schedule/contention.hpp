#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "schedule/work.hpp"

namespace occbench {

/// Equal reads of device memory by many warps take unequally long, evenly spread around their mean: by up to
/// this share of it. It is a tenth where resident warps ask for twice what the memory can move or more, less
/// where they ask for less (seen on the H200: blocks of any size, 6 to 100 % theoretical occupancy, 1 to 20
/// waves).
double memory_spread(double bytes_per_cycle_asked, double bytes_per_cycle);

/// For how long warps that can issue in every cycle stay in lockstep, drawn evenly by its logarithm: 30,000
/// to 500,000 cycles. On an H200 the recorded launches of a loop of multiply-adds are explained by 10,000 to
/// 700,000 cycles, longer ones by more (results/nvidia-h200/block-scheduling.md, "Issue slots and pipes").
/// Seeds of one series are far from one another, and the first one, 1, is in the middle.
double draw_lockstep_cycles(std::uint64_t seed);

/// How warps that can issue in every cycle share a sub-partition.
struct Turns {
  /// For how long those that began together on an empty one stay in lockstep. Once a warp has ended there,
  /// they do only as long as no other block comes.
  double lockstep_cycles = 0;
  double of_three = 0;     ///< chance that a turn after that is one of three warps
  std::uint64_t seed = 1;  ///< of that chance
};

/// One turn in four, by the ends of warps in streams of blocks on an H200 (block-scheduling.md, as above);
/// what their counters read hardly tells it from one in two.
inline constexpr double kTurnsOfThree = 0.25;

/// Warps that contend: for the issue slots of their sub-partition, one a cycle, or for one of its pipes, and
/// for the bandwidth of the device. As seen on the H200 (results/nvidia-h200/block-scheduling.md):
///
/// A sub-partition serves blocks in the order in which they came, and the warps of one block evenly: with two
/// warps of each block there and four warps able to fill the slots, blocks finish two by two, which is why a
/// balanced issue-bound wave of small blocks reads 60 % and not 100. An instruction that has begun is not
/// interrupted: where two warps leave a rest of the slots, three share them evenly.
///
/// Warps that can issue in every cycle do not keep the slots to themselves. While they are in lockstep, as
/// many as make pairs share them evenly, and of an odd number the youngest waits; then they take turns: the
/// two oldest, now and then three, have the slots until all are done, whoever they are. So turns do not keep
/// to blocks, and a block waits for the turn that it shares with the next one. For how long they stay in
/// lockstep depends on more than the launch; a warp that comes after others have ended is not in lockstep
/// with them.
///
/// Bandwidth is shared in proportion to demand, and all are slower before it is used up: where they ask for a
/// share s of it, by the cube root of 1 + s^3.
class Contention {
 public:
  /// Warps of one block and sub-partition that have finished together, by the numbers they were given; none
  /// where only their shares have changed.
  struct Finished {
    double time;
    int block;
    std::span<const int> warps;  ///< until the next call
  };

  /// @param partitions       sub-partitions of the device
  /// @param alone            what a warp does alone
  /// @param bytes_per_cycle  what the device can move
  Contention(int partitions, const Rates& alone, double bytes_per_cycle, const Turns& turns = {});

  struct Warp {
    double cycles;  ///< that it would take alone
    int warp;
  };

  /// The warps of a block that are on a sub-partition begin at `time` (not before the last event).
  void begin(double time, int partition, int block, std::span<const Warp> warps);

  /// When the next warps finish if none begins before; infinity if none runs.
  double next_finish() const;

  /// Goes on to that time.
  Finished finish_next();

 private:
  /// A block's warps on one sub-partition that get on alike, so the one with least to do is done first.
  struct Group {
    int block;
    std::vector<Warp> left;  ///< descending by cycles
    double done = 0;         ///< cycles that each of them has got on by, as of the sub-partition's `updated`
    double speed = 0;        ///< of each, on the stretched clock
  };
  struct Partition {
    std::vector<Group> groups;  ///< in the order of coming
    double lockstep_until = 0;  ///< on the stretched clock
    bool has_ended = false;     ///< a warp has, ever: a later block is in lockstep only if it is alone there
    double updated = 0;         ///< up to when its warps' progress is counted, on that clock
    double speed = 0;           ///< sum of its warps' speeds
    std::size_t in_turn = 0;    ///< of the oldest groups, those whose turn it is until all are done
    /// The group of the warp that finishes first if nothing changes; empty if shares change before.
    std::optional<std::size_t> next;
    std::uint32_t version = 0;
  };
  struct Next {
    double clock;
    int partition;
    std::uint32_t version;
    bool operator>(const Next& other) const {
      return clock > other.clock;
    }
  };

  double time_rate() const;
  void pass_time(double time);
  void update(Partition& partition);
  void serve_oldest_first(std::vector<Group>& groups) const;
  bool is_in_lockstep(const Partition& partition) const {
    return partition.updated < partition.lockstep_until;
  }
  void serve_in_turns(Partition& partition);
  void schedule(int index);
  void drop_stale() const;
  /// Takes the warps out of a group that finish first; gives their block.
  int finish(Partition& partition, std::size_t group);

  double most_full_speed_;  ///< warps that a sub-partition can serve at full speed
  bool in_turns_;           ///< warps can issue in every cycle: each is a group
  Turns turns_;
  std::uint64_t turns_drawn_ = 0;
  double byte_rate_;
  double bytes_per_cycle_;
  std::vector<Partition> partitions_;
  std::vector<int> finished_;
  mutable std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  double speed_ = 0;  ///< sum over the device: warps' worth of progress a cycle of the stretched clock
  double time_ = 0;   ///< cycles
  double clock_ = 0;  ///< cycles in which a warp that only lacks bandwidth gets on by one
};

}  // namespace occbench
