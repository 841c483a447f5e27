#pragma once

#include <vector>

#include "gate/compare.hpp"
#include "gate/run.hpp"
#include "gate/tolerances.hpp"
#include "record/columns.hpp"

namespace occbench {

using Cases = std::vector<const RecordedCase*>;

/// Data that all cases of a comparison share.
struct GateContext {
  const Tolerances& tolerances;
  std::vector<const Column*> exact;  ///< causes before consequences
  bool paired;
};

/// One case: a recorded row of each run, baseline[i] next to candidate[i].
struct Sides {
  Cases baseline;
  Cases candidate;
};

/// Adds the findings of the column table's rules on a case that both sides have, most severe grade first.
void judge(const Sides& sides, const GateContext& context, ComparedCase& into);

}  // namespace occbench
