#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/sm.hpp"
#include "simulate/timeline.hpp"

namespace occbench {

/// Expected values of a launch's counters.
struct Simulation {
  double achieved_pct = 0;        ///< resident warps over the SM's maximum, in cycles in which the SM had any
  double elapsed_pct = 0;         ///< the same over all SMs and the longest SM's active cycles
  double cycles_active_min = 0;   ///< active cycles of the SM that had fewest
  double cycles_active_mean = 0;  ///< over all SMs
  double cycles_active_max = 0;
  double resident_blocks = 0;  ///< blocks resident on an SM, mean over its active cycles
  Timeline timeline;
};

/// Equal blocks repeat wave after wave: beyond some 262,000 of them, and 16 waves, waves are not simulated.
struct SkippedWaves {
  std::int64_t simulated_blocks = 0;
  std::int64_t wave_blocks = 0;
  std::int64_t waves = 0;  ///< that are skipped
};

/// @param wave_blocks  blocks that the device holds at once, whole clusters
SkippedWaves skipped_waves(std::int64_t grid_blocks, std::int64_t wave_blocks);

/// When a block held its place, in cycles from the launch.
struct BlockSpan {
  int sm = 0;
  double begin = 0;
  double end = 0;
};

/// Adds up how long warps and blocks of a launch are resident. What skipped waves add is extrapolated from
/// the middle half of those that are simulated.
class Residency {
 public:
  /// @param spans  gets each simulated block, in the order of their ends; null = not wanted
  explicit Residency(const SkippedWaves& skipped, std::vector<BlockSpan>* spans = nullptr)
      : skipped_(skipped), spans_(spans) {}

  /// `warps` warps were resident from `begin` to `end`.
  void add_warps(double begin, double end, int warps) {
    warp_cycles_ += (end - begin) * warps;
    timeline_.add(begin + skipped_cycles_, end + skipped_cycles_, warps);
  }

  void add_block(const BlockSpan& block) {
    block_cycles_ += block.end - block.begin;
    if (spans_ != nullptr) spans_->push_back(block);
  }

  /// To be called before each block that is dispatched.
  void before(std::int64_t block, double now, std::span<const Sm> sms) {
    if (skipped_.waves > 0) skip_waves(block, now, sms);
  }

  /// @param max_warps  of an SM
  Simulation result(std::span<const Sm> sms, int max_warps) const;

 private:
  void skip_waves(std::int64_t block, double now, std::span<const Sm> sms);

  /// What has been added up a quarter of the simulated waves in, and what skipped waves add to it.
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
