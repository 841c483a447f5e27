#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/occupancy.hpp"
#include "predict/device_profile.hpp"
#include "predict/profile_choice.hpp"
#include "simulate/work.hpp"

namespace occbench {

// The 90 % interval of a prediction. It goes from the lowest to the highest of the simulations, which differ in
// what chance and, for a GPU whose clocks nobody measured, these decide. From there it goes further by the margin of its
// kind of work, which 90 % of recorded launches of that kind needed. (Split conformal prediction: Romano, Patterson,
// Candès, "Conformalized Quantile Regression", NeurIPS 2019.)

/// What the simulation's error depends on: each kind has margins of its own.
enum class WorkKind {
  even_waves,               ///< equal blocks, and no partial last wave beyond the first
  partial_last_wave,        ///< equal blocks, and a partial last wave beyond the first
  partial_last_wave_short,  ///< likewise, of blocks shorter than kShortBlockCycles
  uneven_blocks,            ///< warps of a block take equally long
  uneven_warps,             ///< within a block
  clusters,                 ///< blocks in clusters
  issue_or_pipe_bound,      ///< warps contend for issue slots or a pipe
  always_issuing,           ///< and each of them can issue in every cycle
  always_issuing_known,     ///< likewise; for how long they stay in lockstep is known from a reading
  memory_bound,             ///< warps contend for bandwidth
  local_memory,             ///< the kernel has local memory: spills are not simulated
  // Work that nobody gave, and that is taken as equal for all blocks:
  inferred_one_block,   ///< an SM has at most one block
  inferred_one_wave,    ///< at most one wave
  inferred_more_waves,  ///< more than one
};

/// GPC clocks differ by some 0.3 %. In shorter blocks that is less than overheads differ by, so these decide which SMs
/// get the last blocks.
inline constexpr double kShortBlockCycles = 50'000;

inline constexpr int kWorkKinds = static_cast<int>(WorkKind::inferred_more_waves) + 1;

/// "even_waves", ...
std::string_view to_string(WorkKind kind);
/// In a few words without commas, for tables: "equal blocks without a partial last wave".
std::string_view description_of(WorkKind kind);

/// Where the work of a launch comes from.
enum class WorkOrigin {
  given,
  inferred,  ///< it is taken as equal for all blocks
};

WorkKind kind_of(const Launch& launch, const Usage& usage, const Occupancy& occupancy, int sm_count,
                 const Tasks& tasks, WorkOrigin origin);

/// Of some simulations of a launch, percent of the device's warps.
struct RunRange {
  double low = 0;
  double middle = 0;
  double high = 0;
};

struct RunRanges {
  RunRange achieved;
  RunRange elapsed;
};

struct Interval {
  double low = 0;
  double high = 0;

  double width() const {
    return high - low;
  }
  bool contains(double value) const {
    return low <= value && value <= high;
  }
  bool operator==(const Interval&) const = default;
};

/// Percent of the device's warps.
struct Intervals {
  Interval achieved;
  Interval elapsed;
};

/// How far outside the simulations a counter may be: shares of the predicted occupancy.
struct Margin {
  double below = 0;
  double above = 0;
};

struct KindMargins {
  Margin achieved;
  Margin elapsed;  ///< of occupancy over elapsed cycles
};

/// From the table src/predict/interval_margins.csv, which build/cpu/bin/interval_margins writes.
const KindMargins& margins_of(WorkKind kind);

/// The simulation's overheads are off by up to so many cycles of a block, on top of the margins of its kind: of
/// recorded launches of equal blocks without a partial last wave nine in ten are, whether blocks have 1,000 cycles
/// or 400,000 (build/cpu/bin/interval_margins prints the figure). In points it is much for short blocks alone.
inline constexpr double kOverheadErrorCycles = 119;

/// No margin is smaller: readings of one launch and rounding differ by as much.
inline constexpr double kLeastMarginPoints = 0.1;

/// Elapsed cycles are at least the active ones: no end of the interval over elapsed cycles is above that of achieved
/// occupancy.
/// @param block_cycles  mean over blocks or warps, above 0
/// @param most_pct      what the launch can reach at most
Intervals intervals_of(const RunRanges& simulations, const KindMargins& margins, double block_cycles,
                       double most_pct);

/// What a launch can reach at most: up to one wave what the blocks of the fullest SM give, else theory, or most_warps() where
/// warps exit one by one and so leave room for others.
double most_pct(const Launch& launch, const Limits& limits, const Occupancy& occupancy, int sm_count,
                const Tasks& tasks);

/// Points from low to high from which on an interval is wide enough to be explained.
inline constexpr double kWideIntervalPoints = 5;

/// Why an interval is wide, and what makes it narrower: "no such GPU was measured: calibrate one".
std::string_view why_wide(WorkKind kind, ProfileQuality quality);

/// "90 %: 62 to 92", of a generic profile, which nobody tested so, "range: 62 to 92".
std::string named(const Interval& interval, ProfileQuality quality);

/// "90 %: 62 to 92; a partial wave ...": with the reason where the interval is wide or the profile generic.
std::string interval_text(const Interval& interval, WorkKind kind, ProfileQuality quality);

/// "62 to 92": whole percents where it is wider than 10 points, else with a decimal.
std::string to_string(const Interval& interval);

/// What one simulation of a launch takes, roughly, on one core. It says how many of them a generic prediction
/// is made of, which therefore is the same on every machine.
double simulation_microseconds(const Limits& limits, const Tasks& tasks);

struct Asked;

/// What a launch reaches as what is not known of its GPU goes to both ends: of a generic profile its parameters, of the GPU's own
/// the clocks of its GPCs, which an H100 had half as far apart at another clock, minutes after its calibration
/// (docs/notes/block-scheduler.md). Empty for a built-in profile, the clocks of which are drawn.
/// @throws InputError as Seeds and simulate() do
std::optional<Intervals> range_of_unknowns(const Asked& asked, const Tasks& tasks);

/// So that they have all of `range`.
void widen(RunRanges& simulations, const Intervals& range);

}  // namespace occbench
