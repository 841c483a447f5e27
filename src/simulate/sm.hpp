#pragma once

#include <algorithm>
#include <vector>

#include "occupancy/occupancy.hpp"
#include "simulate/device_model.hpp"
#include "simulate/dispatcher.hpp"
#include "simulate/draws.hpp"

namespace occbench {

/// How the SMs of a device launch the blocks of one launch.
struct SmRules {
  SmRules(const DeviceParameters& parameters, const Limits& limits, const Occupancy& occupancy);

  int max_warps;  ///< of an SM
  int warps_per_block;
  int blocks_per_sm;  ///< that an SM holds at once
  double block_launch_cycles;
};

/// Cycles in which something was resident, of intervals whose begins ascend.
class ActiveCycles {
 public:
  void add(double begin, double end) {
    total_ += std::max(0.0, end - std::max(begin, until_));
    until_ = std::max(until_, end);
  }
  double total() const {
    return total_;
  }

 private:
  double total_ = 0;
  double until_ = 0;
};

/// Does one thing at a time, in the order of the calls: what comes while it is busy waits.
class OneAtATime {
 public:
  /// @param free_at  it begins nothing before
  explicit OneAtATime(double free_at) : free_at_(free_at) {}

  /// What comes at `now` keeps it busy for so many cycles. @return when it begins, `now` or later
  double begin(double now, double cycles) {
    const double begin = std::max(now, free_at_);
    free_at_ = begin + cycles;
    return begin;
  }

 private:
  double free_at_;
};

/// What tells SMs of one device apart, in one launch.
struct SmTraits {
  double first_start = 0;                 ///< when it can start its first block
  double slowness = 1;                    ///< what one of its cycles takes of the mean clock's
  double replacement_latency_cycles = 0;  ///< from the end of a block to the start of the one in its place
  int first_wave_blocks = 0;              ///< blocks that it takes of the first wave
};

/// One SM: when it launches blocks, how long it is active.
class Sm {
 public:
  explicit Sm(const SmTraits& traits) : traits_(traits), launching_(traits.first_start) {}

  const SmTraits& traits() const {
    return traits_;
  }

  /// A block that the SM has taken.
  struct Launched {
    int number;    ///< 0, 1, ... on this SM
    double start;  ///< its warps are resident
  };
  /// Takes a block that was dispatched at `now`.
  Launched launch(double now, const SmRules& rules);

  int resident_blocks() const {
    return resident_blocks_;
  }

  /// A block has left: there is room for another.
  void release() {
    --resident_blocks_;
  }

  ActiveCycles active;

 private:
  SmTraits traits_;
  OneAtATime launching_;
  int blocks_started_ = 0;
  int resident_blocks_ = 0;  ///< until release()
};

/// All SMs of a device before a launch. SMs of one GPC have in common when their first blocks reach them and
/// how fast their clock runs, those of one TPC how long a replacement takes.
/// @param stretch  Workload::stretch()
std::vector<Sm> sms_of(const DeviceModel& device, const FirstWave& wave, const Draws& draws, double stretch);

}  // namespace occbench
