#pragma once

#include <vector>

#include "gate/compare.hpp"
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

/// Adds what the rules of the column table find in a case that both sides have, gravest grade first.
void judge(const Sides& sides, const GateContext& context, ComparedCase& into);

}  // namespace occbench
