#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "predict/device_profile.hpp"
#include "predict/interval.hpp"
#include "predict/profile_choice.hpp"
#include "simulate/simulate.hpp"
#include "simulate/work.hpp"

namespace occbench {

/// Losses from theoretical to predicted occupancy, in points. Each loss is the difference between two
/// simulations that differ in one thing, so that their sum is theoretical - predicted. The order: one full
/// wave of even work; the grid's part of a wave; the whole grid; uneven blocks; uneven warps; with
/// contention; with overheads. Without overheads means the limit of very long work. A loss below 0 is a gain:
/// a later effect undid part of an earlier one.
struct Losses {
  double small_grid = 0;      ///< the grid has fewer blocks than one wave
  double tail = 0;            ///< the last wave is partial
  double between_blocks = 0;  ///< uneven blocks
  double within_block = 0;    ///< uneven warps within a block
  double overhead = 0;        ///< launching, dispatching and replacing blocks
  double contention = 0;      ///< warps contend for issue slots, a pipe or bandwidth

  double total() const {
    return small_grid + tail + between_blocks + within_block + overhead + contention;
  }
};

/// Expected values of the counters: medians over simulations that differ in random draws (ties, first GPC,
/// lockstep time), and in GPC clocks if they are not measured. They use no measurement of the launch.
struct Prediction : SimulatedReadings {
  std::string device_profile;
  std::optional<ProfileQuality> profile_quality;  ///< empty if the profile's GPU is not known
  double theoretical_pct = 0;
  double predicted_pct = 0;
  Interval interval;  ///< contains the counter of nine in ten launches (interval.hpp)
  double predicted_elapsed_pct = 0;
  Interval elapsed_interval;
  Interval cycles_range;  ///< range_of_cycles()
  Losses losses;
};

/// Summary of a launch's simulations: medians, the timeline of the median run, and ranges.
struct Simulations : RunRanges, SimulatedReadings {};

/// A launch to predict: the prediction depends on this and on its work.
struct Asked {
  Launch launch;
  Usage usage;
  const Limits& limits;
  const ChosenProfile& chosen;
  Chance chance = {};
  WorkOrigin origin = WorkOrigin::given;  ///< of its work
};

/// Number of simulations whose median is a figure, odd. Large grids need fewer, because chance matters less.
std::int64_t runs_of(const Tasks& tasks, const Chance& chance);

/// As predict() simulates for a GPU. A generic prediction makes only as many simulations as its time allows:
/// its parameters are less certain than chance.
Chance chance_of(const ChosenProfile& chosen, const Limits& limits, const Tasks& tasks, Chance chance = {});

/// Simulates a launch several times. If the profile has no GPC clocks, runs draw them up to two to four times
/// `gpc_clock_spread_ppm` from the mean, because GPUs of one model differ in the spread of their clocks.
/// @throws InputError as Seeds and simulate() do
Simulations simulate_often(const Launch& launch, const Usage& usage, const Limits& limits,
                           const DeviceProfile& profile, const Tasks& tasks, const Chance& chance = {});

/// Likewise for a GPU. Lowest and highest also include range_of_unknowns(); none is above most_pct().
Simulations simulate_often(const Asked& asked, const Tasks& tasks);

/// The intervals of a launch's counters, around its simulations.
Intervals intervals_of(const Asked& asked, const Tasks& tasks, const RunRanges& simulations);

/// Without contention and with warps that take equally long in each block, neither the prediction nor its
/// interval is above theory.
/// @throws InputError as simulate_often() does.
Prediction predict(const Asked& asked, const Tasks& tasks);

/// Range of the longest SM's cycles, from the interval over elapsed cycles: higher occupancy means fewer
/// cycles. Inferred work counts as given equal work, as in its simulations.
Interval range_of_cycles(Asked asked, const Tasks& tasks, const Simulations& simulations);

/// Seconds that one simulation may take. A prediction needs some ten to thirty of them.
inline constexpr double kMostSimulationSeconds = 10;

/// @throws InputError if the grid has so many uneven blocks that a simulation would take longer than
/// kMostSimulationSeconds. Equal blocks have no limit: most of their waves are skipped.
void require_simulable(const Limits& limits, const Tasks& tasks);

}  // namespace occbench
