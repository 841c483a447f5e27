#pragma once

#include <optional>

#include "diagnose/launch_facts.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {

/// Where the points between theory and counter are, by resident blocks. They add up to theoretical - achieved.
struct MeasuredParts {
  double blocks = 0;  ///< places without a block; below 0 where an SM held more blocks than theory says
  double warps = 0;   ///< warps of resident blocks that had exited or not begun
};

/// @param resident_blocks  mean over an SM's active cycles
/// @param warps_per_sm     that it can hold
MeasuredParts measured_parts(double theoretical_pct, double achieved_pct, double resident_blocks,
                             int warps_per_block, int warps_per_sm);

/// A launch whose theory is known, and what follows from its facts.
struct Situation {
  const LaunchFacts& facts;
  Launch launch;
  Usage usage;
  Occupancy occupancy;
  double theoretical_pct = 0;
  std::int64_t wave = 0;  ///< blocks that the device holds at once; 0 = not known
  std::optional<double> achieved_pct;
  /// What is explained: the counter's value, else the predicted one, else theory less what the grid alone costs.
  double reached_pct = 0;
  std::optional<MeasuredParts> parts;

  /// Points between theory and what is explained.
  double lost() const {
    return theoretical_pct - reached_pct;
  }
  const CounterValues& counters() const {
    return facts.readings.counters;
  }
  const Losses* losses() const {
    return facts.prediction ? &facts.prediction->losses : nullptr;
  }
  bool is_partial_wave() const {
    return wave > 0 && launch.grid_blocks > 0 && launch.grid_blocks < wave;
  }
  bool has_tail() const {
    return wave > 0 && launch.grid_blocks > wave && launch.grid_blocks % wave != 0;
  }
  /// Whole and partial waves.
  double waves() const {
    return static_cast<double>(launch.grid_blocks) / static_cast<double>(wave);
  }
  /// Blocks on an SM that has any, mean, where the grid has fewer than a wave.
  double blocks_of_busy_sm() const;
  /// Occupancy of such a grid, percent.
  double partial_wave_pct() const;
  /// The same where all SMs had as many blocks as the one with most.
  double most_of_partial_wave_pct() const;
  /// Share of the measured active cycles that the prediction is about, at most 1; 1 where one is not known.
  double predicted_share_of_cycles() const;
  /// Cycles from one block to the next in the same place of an SM; empty where it is not known.
  std::optional<double> cycles_per_block() const;
};

/// Empty where limits, launch or usage are not known, or no block fits an SM.
std::optional<Situation> situation_of(const LaunchFacts& facts);

}  // namespace occbench
