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

// The 90 % interval of a prediction. It spans the simulations from lowest to highest. These differ in random
// draws and, for a GPU whose clocks are not measured, in clocks. The margin of its kind of work, which 90 %
// of recorded launches of that kind needed, widens it on both sides. (Split conformal prediction: Romano,
// Patterson, Candès, "Conformalized Quantile Regression", NeurIPS 2019.)

/// Kinds of work by the simulation's error: each kind has its own margins.
enum class WorkKind {
  even_waves,               ///< equal blocks, and no partial last wave beyond the first
  partial_last_wave,        ///< equal blocks, and a partial last wave beyond the first
  partial_last_wave_short,  ///< likewise, with blocks shorter than kShortBlockCycles
  uneven_blocks,            ///< warps of a block take equally long
  uneven_warps,             ///< within a block
  clusters,                 ///< blocks in clusters
  issue_or_pipe_bound,      ///< warps contend for issue slots or a pipe
  always_issuing,           ///< likewise, and each warp can issue in every cycle
  always_issuing_known,     ///< likewise, with a lockstep time known from a reading
  memory_bound,             ///< warps contend for bandwidth
  local_memory,             ///< the kernel has local memory: spills are not simulated
  // Work that was not given and is taken as equal for all blocks:
  inferred_one_block,   ///< an SM has at most one block
  inferred_one_wave,    ///< at most one wave
  inferred_more_waves,  ///< more than one
};

/// GPC clocks differ by some 0.3 %. For shorter blocks that is less than the variation of overheads, so
/// overheads decide which SMs get the last blocks.
inline constexpr double kShortBlockCycles = 50'000;

inline constexpr int kWorkKinds = static_cast<int>(WorkKind::inferred_more_waves) + 1;

/// "even_waves", ...
std::string_view to_string(WorkKind kind);
/// A few words without commas, for tables: "equal blocks without a partial last wave".
std::string_view description_of(WorkKind kind);

/// Source of a launch's work.
enum class WorkOrigin {
  given,
  inferred,  ///< it is taken as equal for all blocks
};

WorkKind kind_of(const Launch& launch, const Usage& usage, const Occupancy& occupancy, int sm_count,
                 const Tasks& tasks, WorkOrigin origin);

/// Range over simulations of a launch, percent of the device's warps.
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

/// How far a counter may lie outside the simulations, as shares of the predicted occupancy.
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

/// Error of the simulated overheads in cycles per block, added to the margins of the kind. Nine in ten
/// recorded launches of equal blocks without a partial last wave are off by at most this, for blocks of 1,000
/// to 400,000 cycles (build/cpu/bin/interval_margins prints the figure). In points it is large only for short
/// blocks.
inline constexpr double kOverheadErrorCycles = 119;

/// The smallest margin: readings of one launch and rounding differ by as much.
inline constexpr double kLeastMarginPoints = 0.1;

/// Elapsed cycles are at least the active ones, so neither end of the interval over elapsed cycles is above
/// that of achieved occupancy.
/// @param block_cycles  mean over blocks or warps, above 0
/// @param most_pct      upper limit of the launch's occupancy
Intervals intervals_of(const RunRanges& simulations, const KindMargins& margins, double block_cycles,
                       double most_pct);

/// Upper limit of a launch's occupancy: up to one wave, that of the fullest SM's blocks; else theory, or
/// most_warps() if warps exit one by one and so leave room for others.
double most_pct(const Launch& launch, const Limits& limits, const Occupancy& occupancy, int sm_count,
                const Tasks& tasks);

/// Width in points from which an interval is explained.
inline constexpr double kWideIntervalPoints = 5;

/// Why an interval is wide, and how to narrow it: "no such GPU was measured: calibrate one".
std::string_view why_wide(WorkKind kind, ProfileQuality quality);

/// "90 %: 62 to 92"; for a generic profile, whose coverage is not tested, "range: 62 to 92".
std::string named(const Interval& interval, ProfileQuality quality);

/// "90 %: 62 to 92; a partial wave ...": with the reason if the interval is wide or the profile generic.
std::string interval_text(const Interval& interval, WorkKind kind, ProfileQuality quality);

/// "62 to 92": whole percents if it is wider than 10 points, else one decimal.
std::string to_string(const Interval& interval);

/// Rough time of one simulation of a launch on one core. It sets the number of simulations of a generic
/// prediction, which is therefore the same on every machine.
double simulation_microseconds(const Limits& limits, const Tasks& tasks);

struct Asked;

/// Range of a launch's occupancy as the unknowns of its GPU go to both ends. For a generic profile these are
/// its parameters, for the GPU's own profile its GPC clocks: those of an H100 were half as far apart at
/// another clock, minutes after its calibration (docs/notes/block-scheduler.md). Empty for a built-in
/// profile, whose clocks are drawn.
/// @throws InputError as Seeds and simulate() do
std::optional<Intervals> range_of_unknowns(const Asked& asked, const Tasks& tasks);

/// Extends `simulations` to include `range`.
void widen(RunRanges& simulations, const Intervals& range);

}  // namespace occbench
