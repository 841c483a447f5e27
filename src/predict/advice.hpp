#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace occbench {

/// A launch near the asked one that does the same work sooner.
struct Advice {
  Launch launch;
  Work work;                  ///< of that launch; the same work
  double predicted_pct = 0;   ///< occupancy of that launch, as predict() has it
  Interval interval;          ///< likewise
  double gain_points = 0;     ///< over the prediction of the asked one
  double time_saved_pct = 0;  ///< by the longest SM's active cycles
  Interval time_saved;        ///< percent, by the intervals of both launches over elapsed cycles
  std::string sentence;
};

/// Cycles of all warps of a launch together.
double total_cycles(const Work& work, const Launch& launch);

/// A note where advise() tries nothing, because the blocks are uneven and too many, or no other grid, because work is drawn;
/// else empty.
std::string why_not_advised(const Launch& launch, const Work& work);

/// Where most is lost to uneven warps within a block: the same work spread evenly over the warps of the same
/// launch. Otherwise tries whole waves (the same work in more or fewer blocks), smaller clusters, block sizes from half to twice the
/// asked one (the same threads in other blocks, each with the same shared memory), of both with equal work their whole waves too, and,
/// of uneven work, twice as many blocks for as long as another doubling saves 1 % of the time more. Gives the one that is done soonest by
/// simulation, of those that save about as much the one that changes less, and none whose range over elapsed cycles leaves it open
/// whether it saves time. Work that is drawn is left out: another grid would be another draw. Work keeps its distribution and its
/// total: cycles are rescaled, and the number of `last` units goes with that of all. Empty if none saves 1 % of the time or is
/// tried: why_not_advised().
/// @param prediction  what predict() says of the asked launch
/// @throws InputError as predict() does.
std::optional<Advice> advise(const Asked& asked, const Work& work, const Prediction& prediction);

}  // namespace occbench
