#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "occupancy/occupancy.hpp"
#include "simulate/device_model.hpp"
#include "simulate/dispatcher.hpp"
#include "simulate/draws.hpp"

namespace occbench {

/// Resident warps over the time of a launch, as means over equal steps.
struct Timeline {
  double step_cycles = 0;
  std::vector<double> warps;  ///< of the whole device; step i covers [i, i + 1) x step_cycles
};

/// Adds up intervals in any order in constant memory: if time outgrows the steps, they double in length.
class TimelineBuilder {
 public:
  /// `warps` warps were resident from `start` to `end`, cycles from 0.
  void add(double start, double end, double warps);

  /// Steps up to the last end that was added.
  Timeline finish() const;

 private:
  /// From `when` on there are `warps` more (or fewer).
  void change(double when, double warps);

  static constexpr int kSteps = 512;
  double step_ = 64;
  double end_ = 0;
  std::vector<double> change_ = std::vector<double>(kSteps);    ///< sum of the changes within a step
  std::vector<double> weighted_ = std::vector<double>(kSteps);  ///< each times its place in the step, 0 to 1
};

/// How the SMs of a device launch the blocks of one launch.
struct SmRules {
  SmRules(const DeviceParameters& parameters, const Limits& limits, const Occupancy& occupancy);

  int max_warps;  ///< of an SM
  int warps_per_block;
  int blocks_per_sm;  ///< that an SM holds at once
  double block_launch_cycles;
};

/// Cycles in which something was resident; intervals are added by ascending begin.
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

/// Differences between SMs of one device, in one launch.
struct SmTraits {
  double first_start = 0;                 ///< when it can start its first block
  double slowness = 1;                    ///< length of its cycle over that of the mean clock
  double replacement_latency_cycles = 0;  ///< from the end of a block to the start of its replacement
  int first_wave_blocks = 0;              ///< blocks that it takes of the first wave
};

/// One SM: when it launches blocks, how long it is active.
class Sm {
 public:
  explicit Sm(const SmTraits& traits) : traits_(traits), launches_from_(traits.first_start) {}

  const SmTraits& traits() const {
    return traits_;
  }

  /// A block that the SM has taken.
  struct Launched {
    int number;    ///< 0, 1, ... on this SM
    double start;  ///< when its warps become resident
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
  double launches_from_;  ///< earliest launch of its next block
  int blocks_started_ = 0;
  int resident_blocks_ = 0;  ///< until release()
};

/// All SMs of a device before a launch. Each SM draws its own start; SMs of one GPC share a clock, and those
/// of one TPC a replacement latency.
/// @param stretch  Tasks::stretch()
std::vector<Sm> sms_of(const DeviceModel& device, const FirstWave& wave, const Draws& draws, double stretch);

/// Expected values of a launch's counters besides occupancy. Each SM counts cycles of its own clock.
struct SimulatedReadings {
  double cycles_active_min = 0;   ///< active cycles of the SM with the fewest
  double cycles_active_mean = 0;  ///< over all SMs
  double cycles_active_max = 0;
  double resident_blocks = 0;  ///< blocks resident on an SM, mean over its active cycles
  Timeline timeline;
};

struct Simulation : SimulatedReadings {
  double achieved_pct = 0;  ///< resident warps over the SM's maximum, in cycles with at least one
  double elapsed_pct = 0;   ///< the same over all SMs and the longest SM's active cycles
};

/// Equal blocks repeat wave after wave. Beyond some 262,000 blocks and 16 waves, waves are not simulated.
struct SkippedWaves {
  std::int64_t simulated_blocks = 0;
  std::int64_t wave_blocks = 0;
  std::int64_t waves = 0;  ///< that are skipped
};

/// @param wave_blocks  blocks that the device holds at once, whole clusters
SkippedWaves skipped_waves(std::int64_t grid_blocks, std::int64_t wave_blocks);

/// When a block was resident, in cycles from the launch.
struct BlockSpan {
  int sm = 0;
  double begin = 0;
  double end = 0;
};

/// Adds up how long warps and blocks of a launch are resident, each in cycles of its own SM, as the counters
/// do. The timeline is in cycles of the mean clock. Skipped waves are extrapolated from the middle half of
/// the simulated ones.
class Residency {
 public:
  /// @param spans  receives each simulated block, by dispatch or, if warps contend, by end; null = not wanted
  explicit Residency(const SkippedWaves& skipped, std::vector<BlockSpan>* spans = nullptr)
      : skipped_(skipped), spans_(spans) {}

  /// `warps` warps were resident on `sm` from `begin` to `end`.
  void add_warps(const Sm& sm, double begin, double end, int warps) {
    warp_cycles_ += (end - begin) * warps / sm.traits().slowness;
    timeline_.add(begin + skipped_cycles_, end + skipped_cycles_, warps);
  }

  void add_block(const Sm& sm, const BlockSpan& block) {
    block_cycles_ += (block.end - block.begin) / sm.traits().slowness;
    if (spans_ != nullptr) spans_->push_back(block);
  }

  /// Call it before each dispatched block.
  void before(std::int64_t block, double now, std::span<const Sm> sms) {
    if (skipped_.waves > 0) skip_waves(block, now, sms);
  }

  /// @param max_warps  of an SM
  Simulation result(std::span<const Sm> sms, int max_warps) const;

 private:
  void skip_waves(std::int64_t block, double now, std::span<const Sm> sms);

  /// A sum after a quarter of the simulated waves, and the part that skipped waves add.
  struct Extrapolated {
    double at_quarter = 0;
    double skipped = 0;
  };

  SkippedWaves skipped_;
  std::vector<BlockSpan>* spans_;
  double warp_cycles_ = 0;
  double block_cycles_ = 0;
  Extrapolated skipped_warp_cycles_;
  Extrapolated skipped_block_cycles_;
  std::vector<Extrapolated> skipped_active_;  ///< cycles that each SM is active
  double skipped_cycles_ = 0;                 ///< that skipped waves take
  TimelineBuilder timeline_;
};

}  // namespace occbench
