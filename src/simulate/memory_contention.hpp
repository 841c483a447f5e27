#pragma once

namespace occbench {

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
  double time() const {
    return time_;
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

}  // namespace occbench
