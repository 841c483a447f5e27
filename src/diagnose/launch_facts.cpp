#include "diagnose/launch_facts.hpp"

#include <algorithm>

namespace occbench {
namespace {

const Limits* find_limits(const std::optional<ComputeCapability>& capability) {
  const std::span<const Limits> all = all_limits();
  const auto found = std::ranges::find_if(
      all, [&](const Limits& limits) { return capability && limits.compute_capability == *capability; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

LaunchFacts facts_of(const CaseRecord& record) {
  return {.limits = find_limits(record.provenance.compute_capability),
          .sm_count = record.provenance.sm_count.value_or(0),
          .launch = record.launch,
          .compiled = record.compiled,
          .theoretical_pct = record.theory ? std::optional(record.theory->theoretical_pct) : std::nullopt,
          .work = record.identity.work,
          .prediction = record.prediction,
          .readings = record.readings,
          .times = record.times};
}

}  // namespace occbench
