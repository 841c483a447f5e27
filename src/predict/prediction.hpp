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

/// Where the occupancy that theory promised went, in points of it. Each loss is the difference between two
/// simulations that differ in one thing, in this order, so that together they are theoretical - predicted:
/// one full wave of even work; the grid's part of a wave; the whole grid; the blocks as uneven as they are;
/// the warps as uneven as they are; with contention; with overheads. Without overheads means: the limit of
/// work that is very long. A loss below 0 is a gain: what came after undid some of what came before.
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

/// Expected values of the counters: medians over simulations that differ in what chance decides (how ties fall,
/// which GPC begins, for how long warps stay in lockstep), and where nobody has measured the GPU's clocks also in
/// these. Nothing that was measured of the launch is in them.
struct Prediction : SimulatedReadings {
  std::string device_profile;
  std::optional<ProfileQuality> profile_quality;  ///< empty where the profile's GPU is not known
  double theoretical_pct = 0;
  double predicted_pct = 0;
  Interval interval;  ///< that holds the counter of nine in ten launches (interval.hpp)
  double predicted_elapsed_pct = 0;
  Interval elapsed_interval;
  Interval cycles_range;  ///< range_of_cycles()
  Losses losses;
};

/// What simulations of a launch have in common, as medians and the timeline of the run in the middle, and by how much they
/// differ.
struct Simulations : RunRanges, SimulatedReadings {};

/// A launch that is asked about: what is predicted of it depends on this, and on what its blocks do.
struct Asked {
  Launch launch;
  Usage usage;
  const Limits& limits;
  const ChosenProfile& chosen;
  Chance chance = {};
  WorkOrigin origin = WorkOrigin::given;  ///< of what its blocks do
};

/// Simulations that a figure is the median of, an odd number: in large grids chance matters less, and fewer are made.
std::int64_t runs_of(const Tasks& tasks, const Chance& chance);

/// As predict() simulates for a GPU. Of a generic prediction there are as many simulations as its time allows: its
/// parameters are less certain than chance.
Chance chance_of(const ChosenProfile& chosen, const Limits& limits, const Tasks& tasks, Chance chance = {});

/// Simulates a launch several times. Where the profile has no GPC clocks, runs draw them up to two to four times
/// `gpc_clock_spread_ppm` from the mean: GPUs of one model differ in how far their clocks are apart.
/// @throws InputError as Seeds and simulate() do
Simulations simulate_often(const Launch& launch, const Usage& usage, const Limits& limits,
                           const DeviceProfile& profile, const Tasks& tasks, const Chance& chance = {});

/// Likewise for a GPU. Lowest and highest also have what range_of_unknowns() finds; none is above most_pct().
Simulations simulate_often(const Asked& asked, const Tasks& tasks);

/// The intervals of what a launch reads, around its simulations.
Intervals intervals_of(const Asked& asked, const Tasks& tasks, const RunRanges& simulations);

/// Without contention and with warps that take equally long in each block, neither the prediction nor its
/// interval is above theory.
/// @throws InputError as simulate_often() does.
Prediction predict(const Asked& asked, const Tasks& tasks);

/// Cycles of the longest SM, by what a launch may read over elapsed cycles: the more it reads, the fewer they are. Inferred work is taken
/// as equal, as its simulations take it.
Interval range_of_cycles(Asked asked, const Tasks& tasks, const Simulations& simulations);

/// Seconds that one simulation may take. A prediction needs some ten to thirty of them.
inline constexpr double kMostSimulationSeconds = 10;

/// @throws InputError if the grid has so many uneven blocks that a simulation would take longer than
/// kMostSimulationSeconds. Equal ones are no matter: most of their waves are skipped.
void require_simulable(const Limits& limits, const Tasks& tasks);

}  // namespace occbench
