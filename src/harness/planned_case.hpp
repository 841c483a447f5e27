#pragma once

#include <string>

#include "harness/experiment.hpp"
#include "harness/instruments.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// A case with what is known of it before a launch.
struct PlannedCase {
  Case chosen = {};
  const Variant* variant = nullptr;
  /// Identity, launch, usage and theory. Where the device cannot launch it the status is `skipped` already,
  /// and the note says why.
  CaseRecord known;
  std::string name;  ///< experiment/case, as Google Benchmark knows it

  bool can_launch() const {
    return !known.times.status;
  }
};

/// @param provenance  of the run
PlannedCase plan_case(Case chosen, std::string_view experiment_name, const Provenance& provenance,
                      const Device& device, Instruments& instruments);

/// The case as `--occ_small` runs it: a few short blocks.
Case make_small(Case chosen);

}  // namespace occbench
