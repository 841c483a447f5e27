#include "diagnose/launch_facts.hpp"

#include "occupancy/limits.hpp"
#include "record/observed.hpp"

namespace occbench {

LaunchFacts facts_of(const CaseRecord& record) {
  const auto& capability = record.provenance.compute_capability;
  return facts_of(record, capability ? find_limits(*capability) : nullptr);
}

LaunchFacts facts_of(const CaseRecord& record, const Limits* limits) {
  return {.limits = limits,
          .sm_count = record.provenance.sm_count.value_or(0),
          .launch = record.launch,
          .compiled = record.compiled,
          .theoretical_pct = record.theory ? std::optional(record.theory->theoretical_pct) : std::nullopt,
          .work = record.identity.work,
          .work_is_inferred = is_inferred_work(record.identity.work_source),
          .prediction = record.prediction,
          .readings = record.readings,
          .times = record.times};
}

}  // namespace occbench
