#pragma once

#include "gate/judge.hpp"

namespace occbench {

/// Where the occupancy of the candidate goes now, as a note, where that differs from the baseline: the sentence
/// of the first finding of src/diagnose. Adds nothing where the row does not say enough for one.
void add_loss_change(const Sides& sides, ComparedCase& into);

}  // namespace occbench
