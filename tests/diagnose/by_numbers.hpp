#pragma once

#include "diagnose/situation.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

/// What somebody who stands before a profiler's page knows of a launch.
inline LaunchFacts by_numbers(const char* capability, int sm_count, Launch launch, Usage usage,
                              std::optional<double> achieved_pct = std::nullopt) {
  const Limits& limits = limits_of(parse_compute_capability(capability));
  LaunchFacts facts{.limits = &limits,
                    .sm_count = sm_count,
                    .launch = launch,
                    .compiled = Compiled{.usage = usage, .code_architecture = {}},
                    .theoretical_pct = theoretical_occupancy(limits, launch, usage).theoretical_pct};
  facts.readings.counters.achieved_pct = achieved_pct;
  return facts;
}

}  // namespace occbench
