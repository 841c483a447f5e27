#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace occbench {

/// Warps that compete: for the issue slots of their sub-partition, one a cycle, and for the bandwidth of the
/// device.
///
/// A sub-partition serves its warps in the order in which they came (a warp that is ready early is preferred
/// until it has finished: with four warps able to fill the slots, warps finish four by four, which is why a
/// balanced issue-bound wave reads 60 % and not 100). Bandwidth is shared in proportion to demand.
class Competition {
 public:
  /// A warp that has finished, by the number it was given.
  struct Finished {
    double time;
    std::int64_t warp;
  };

  /// @param partitions       sub-partitions of the device
  /// @param issue_rate       slots that a warp alone uses in a cycle, 0 to 1
  /// @param byte_rate        bytes that a warp alone moves in a cycle
  /// @param bytes_per_cycle  what the device can move
  Competition(int partitions, double issue_rate, double byte_rate, double bytes_per_cycle);

  /// Warp number `warp` begins at `time` (not before the last event) on a sub-partition; alone it would take
  /// `cycles`.
  void begin(double time, int partition, std::int64_t warp, double cycles);

  /// When the next warp finishes if none begins before; infinity if none runs.
  double next_finish() const;

  /// Goes on to that time.
  Finished finish_next();

 private:
  struct Running {
    std::int64_t warp;
    double left;  ///< cycles alone, as of the sub-partition's `updated`
  };
  struct Partition {
    std::vector<Running> running;  ///< in the order of coming
    double updated = 0;            ///< on the stretched clock
    double speed = 0;              ///< sum of its warps' speeds
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

  double warp_speed(std::size_t place) const;
  double time_rate() const;
  void pass_time(double time);
  void update(Partition& partition);
  void schedule(int index);
  void drop_stale() const;
  /// The warp that finishes first if nothing changes, and in how many cycles of the stretched clock.
  std::pair<std::size_t, double> soonest(const Partition& partition) const;

  double most_full_speed_;  ///< warps that a sub-partition can serve at full speed
  double byte_rate_;
  double bytes_per_cycle_;
  std::vector<Partition> partitions_;
  mutable std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  double speed_ = 0;  ///< sum over the device: warps' worth of progress a cycle of the stretched clock
  double time_ = 0;   ///< cycles
  double clock_ = 0;  ///< cycles in which a warp that only lacks bandwidth gets on by one
};

}  // namespace occbench
