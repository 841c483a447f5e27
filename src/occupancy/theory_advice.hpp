#pragma once

#include <optional>
#include <string>
#include <vector>

#include "occupancy/configuration.hpp"

namespace occbench {

/// A change of one value of a configuration.
struct Change {
  Axis axis;
  std::int64_t from;
  std::int64_t to;

  bool operator==(const Change&) const = default;
};

/// A change and the occupancy that it leads to.
struct Step {
  Change change;
  int blocks_per_sm;
  double theoretical_pct;
};

/// The nearest steps of occupancy along one axis, all else unchanged.
struct Cliffs {
  Axis axis;
  std::optional<Step> down;  ///< the smallest change that lowers occupancy
  std::optional<Step> up;    ///< the smallest change that raises it; block sizes of whole warps only
};

/// The effect of the smallest change on every axis that can change occupancy at all.
std::vector<Cliffs> cliffs(const Limits& limits, const Configuration& configuration);

/// Two changes that raise occupancy together.
struct PairOfChanges {
  Change first;
  Change second;
  int blocks_per_sm;
  double theoretical_pct;
};

/// How much a change alters its value: |to - from| / max(to, from), the default carveout counting as 100 %.
double cost_of(const Change& change);

/// For configurations that no single change helps. It considers the pairs that raise occupancy and whose changes beyond
/// the reach of a step (below) have the least sum of costs. Of those within kClearlyMore of their highest occupancy it
/// is the pair that costs least; on a tie, the one that keeps the block size. Empty if occupancy is full or two changes
/// do not raise it.
std::optional<PairOfChanges> best_pair(const Limits& limits, const Configuration& configuration);

/// "40 registers per thread instead of 44", "29 % as the carveout instead of the default"
std::string to_string(const Change& change);

// Advice on theoretical occupancy for `calc`, the causes of `explain` and their JSON.

/// The reach of one step, in the order in which advice names them, cheapest first. These are conventions: nobody
/// measured how far a programmer can go.
///   registers      up to kMostRegistersFewer fewer, and at least kLeastRegisters are left
///   block size     whole warps, from half to twice of now
///   shared memory  less per block, down to half of now
///   carveout       a larger one
///   barriers       fewer, down to half of now
/// Everything else stays as it is: a block of another size asks for the same shared memory.
inline constexpr Axis kAxesByCost[] = {Axis::registers_per_thread, Axis::block_threads,
                                       Axis::shared_bytes_per_block, Axis::carveout_pct, Axis::barriers};
/// Two units of registers on compute capabilities from 3.0 on, which allocate 8 per thread.
inline constexpr int kMostRegistersFewer = 16;
inline constexpr int kLeastRegisters = 16;
/// Two changes are named only if they exceed this many times the occupancy of one, and a dearer pair only if it so
/// exceeds a cheaper one: also a convention. A ratio, as time is: three points are little of 80 % and much of 12.5 %.
inline constexpr double kClearlyMore = 1.05;

struct TheoryAdvice {
  double theoretical_pct = 0;  ///< now
  /// Each single change within reach that gives the highest occupancy of all of them, if that is more than now: the
  /// smallest on each axis, for block sizes in either direction. Cheapest first.
  std::vector<Step> highest;
  /// The cheapest change within reach that gives the next lower occupancy above now.
  std::optional<Step> below;
  /// The smallest of the larger carveouts that help most, if the steps above are on other axes.
  std::optional<Step> carveout;
  /// If no step within reach helps: the single change of least cost_of that raises occupancy at all.
  std::optional<Step> beyond;
  /// If no single change helps.
  std::optional<PairOfChanges> pair;
  /// If a pair of changes within reach gives more than kClearlyMore times what `highest` does, or more than now if no
  /// step helps: the best such pair, as best_pair() chooses.
  std::optional<PairOfChanges> within_reach;
  std::int64_t block_threads = 0;           ///< now
  std::int64_t shared_bytes_per_block = 0;  ///< now; a block of another size asks for as much
  bool is_of_directives = false;            ///< OpenACC's or OpenMP's: no source has its launch bounds
};

/// @throws InputError as theoretical_occupancy
TheoryAdvice advise_on_theory(const Limits& limits, const Configuration& configuration);

/// The advice in sentences, one remedy each, with its cost; a last one on shared memory if the block size changes.
std::vector<std::string> sentences(const TheoryAdvice& advice);

/// The highest occupancy of all that is named; now if nothing helps.
double reached_pct(const TheoryAdvice& advice);

/// Savings below this share of a launch's time are not reported: times of the same launch vary by more.
inline constexpr double kLeastShare = 0.01;

/// The time of the same threads with the advice over that now, if each warp takes as long and all SMs are full. Blocks
/// that lose their idle lanes need fewer warps. 1 if nothing helps.
double least_time_ratio(const TheoryAdvice& advice);

/// The most of a launch's time that is saved: by that ratio, or by rounds of equal blocks if there then are fewer. None
/// for a grid that is resident at once.
/// @param ratio  as least_time_ratio()
/// @param waves  of the launch now; 0 = not known
/// @returns the share of the time
double most_time_saved(double ratio, double waves);
/// Rounds in which equal blocks run: whole waves, the last may be partial.
double rounds_of(double waves);
/// Whether equal blocks take as many rounds then, so that only uneven ones may save something.
bool keeps_rounds(double ratio, double waves);

}  // namespace occbench
