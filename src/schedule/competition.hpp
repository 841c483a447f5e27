#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <vector>

namespace occbench {

/// Warps that compete: for the issue slots of their sub-partition, one a cycle, and for the bandwidth of the
/// device.
///
/// A sub-partition serves blocks in the order in which they came, and the warps of one block evenly (seen on
/// the H200, results/nvidia-h200/block-scheduling.md): with two warps of each block there and four warps able
/// to fill the slots, blocks finish two by two, which is why a balanced issue-bound wave of small blocks
/// reads 60 % and not 100. Bandwidth is shared in proportion to demand.
class Competition {
 public:
  /// Warps of one block and sub-partition that have finished together, by the numbers they were given.
  struct Finished {
    double time;
    int block;
    std::span<const int> warps;  ///< until the next call
  };

  /// @param partitions       sub-partitions of the device
  /// @param issue_rate       slots that a warp alone uses in a cycle, 0 to 1
  /// @param byte_rate        bytes that a warp alone moves in a cycle
  /// @param bytes_per_cycle  what the device can move
  Competition(int partitions, double issue_rate, double byte_rate, double bytes_per_cycle);

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
  /// A block's warps on one sub-partition: they get on alike, so the one with least to do is done first.
  struct Group {
    int block;
    std::vector<Warp> left;  ///< descending by cycles
    double done = 0;         ///< cycles that each of them has got on by, as of the sub-partition's `updated`
    double speed = 0;        ///< of each, on the stretched clock
  };
  struct Partition {
    std::vector<Group> groups;  ///< in the order of coming
    double updated = 0;         ///< on the stretched clock
    double speed = 0;           ///< sum of its warps' speeds
    std::size_t next = 0;       ///< the group of the warp that finishes first if nothing changes
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
  void schedule(int index);
  void drop_stale() const;

  double most_full_speed_;  ///< warps that a sub-partition can serve at full speed
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
