#pragma once

#include <functional>
#include <string>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "made_up_run.hpp"

namespace occbench {

/// The run that candidates of these tests are compared with: four cases.
inline const MadeUpRun& baseline() {
  static const MadeUpRun run = made_up_run();
  return run;
}

inline Comparison against_baseline(const MadeUpRun& candidate) {
  return compare(baseline().run("baseline.csv"), candidate.run("candidate.csv"), {});
}

inline Comparison with_change(const std::function<void(MadeUpRun&)>& change) {
  return against_baseline(baseline().with(change));
}

/// Of the worst case.
inline std::string first_reason(const Comparison& comparison) {
  return reason(comparison.cases.front());
}

inline std::string subject(const Comparison& comparison) {
  return comparison.cases.front().findings.front().subject;
}

}  // namespace occbench
