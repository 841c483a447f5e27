#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/prediction.hpp"

namespace occbench {

/// A launch similar to the asked one that does the same work sooner.
struct Advice {
  Launch launch;
  Work work;                  ///< of that launch; the same in total
  double predicted_pct = 0;   ///< occupancy of that launch, as predict() gives it
  Interval interval;          ///< likewise
  double gain_points = 0;     ///< over the prediction of the asked one
  double time_saved_pct = 0;  ///< by the longest SM's active cycles
  Interval time_saved;        ///< percent, from the intervals of both launches over elapsed cycles
  std::string sentence;
};

/// Total cycles of all warps of a launch.
double total_cycles(const Work& work, const Launch& launch);

/// A note if advise() tries nothing because there are too many uneven blocks, or no other grid because work
/// is random; else empty.
std::string why_not_advised(const Launch& launch, const Work& work);

/// If most is lost to uneven warps within a block, tries the same work spread evenly over the warps of the
/// same launch. Otherwise tries whole waves (the same work in more or fewer blocks), smaller clusters, and
/// block sizes from half to twice the asked one (the same threads in other blocks, each with the same shared
/// memory). For equal work it also tries whole waves of these clusters and block sizes. For uneven work it
/// tries twice as many blocks, as long as another doubling saves 1 % more of the time. Returns the candidate
/// that is fastest in simulation; if several save about as much, the one that changes less. Candidates whose
/// range over elapsed cycles leaves it open whether they save time are dropped. Random work is left out,
/// because another grid would be another draw. Work keeps its distribution and its total: cycles are
/// rescaled, and the number of `last` units scales with the number of units. Empty if no candidate saves 1 %
/// of the time or none is tried: why_not_advised().
/// @param prediction  of the asked launch, by predict()
/// @throws InputError as predict() does.
std::optional<Advice> advise(const Asked& asked, const Work& work, const Prediction& prediction);

}  // namespace occbench
