#pragma once

#include <vector>

#include "gate/comparison.hpp"
#include "gate/run.hpp"
#include "gate/tolerances.hpp"
#include "record/columns.hpp"

namespace occbench {

using Cases = std::vector<const RecordedCase*>;

/// What all cases of a comparison share.
struct GateContext {
  const Tolerances& tolerances;
  std::vector<const Column*> exact;  ///< causes before what follows from them
  bool paired;
};

/// One case: a recorded row of each run, baseline[i] next to candidate[i].
struct Sides {
  Cases baseline;
  Cases candidate;
};

/// Times are held against each other only where they were recorded this close together, on the same GPU.
inline constexpr int kComparableSeconds = 3600;

/// How much further the readings of another unit of a GPU model may lie apart, in interquartile ranges: units
/// differ in which SMs are switched off, and with them where the tail of a grid of equal blocks falls. Of 491
/// cases recorded on two H200s the largest difference was 8 such ranges, in such a tail.
inline constexpr double kOtherUnitSpreads = 3;

/// Adds what the rules of the column table find in a case that both sides have, gravest first.
void judge(const Sides& sides, const GateContext& context, ComparedCase& into);

}  // namespace occbench
