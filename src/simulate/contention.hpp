#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "simulate/issue_contention.hpp"
#include "simulate/memory_contention.hpp"

namespace occbench {

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
