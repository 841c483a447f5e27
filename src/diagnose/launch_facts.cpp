#include "diagnose/launch_facts.hpp"

#include <cmath>

#include "occupancy/limits.hpp"
#include "record/observed.hpp"

namespace occbench {
namespace {

/// Of a launch's time, at most which another build takes that is called faster.
constexpr double kFaster = 0.95;
/// Useful work of two launches that is alike, relative.
constexpr double kAlike = 0.01;

bool says_how_fast(const CaseRecord& record) {
  return record.launch && record.compiled && record.compiled->spill_bytes && record.times.time_us &&
         record.times.throughput && record.readings.counters.achieved_pct;
}

bool is_another_build(const CaseRecord& record, const CaseRecord& other) {
  if (!says_how_fast(record) || !says_how_fast(other)) return false;
  const CaseIdentity& one = record.identity;
  const CaseIdentity& two = other.identity;
  if (one.experiment != two.experiment || one.kernel != two.kernel || one.parameters != two.parameters ||
      one.work != two.work || record.launch != other.launch ||
      record.provenance.gpu_uuid != other.provenance.gpu_uuid ||
      record.times.throughput_unit != other.times.throughput_unit)
    return false;
  const auto amount = [](const Times& times) { return *times.throughput * *times.time_us; };
  return std::abs(amount(other.times) / amount(record.times) - 1) < kAlike &&
         record.compiled->spill_bytes != other.compiled->spill_bytes &&
         record.compiled->usage.registers_per_thread != other.compiled->usage.registers_per_thread;
}

}  // namespace

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
          .times = record.times,
          .program = record.program,
          .library = library_of(record.identity.kernel)};
}

std::optional<FasterBuild> faster_build_of(const CaseRecord& record, std::span<const CaseRecord> records) {
  const CaseRecord* fastest = nullptr;
  for (const CaseRecord& other : records) {
    if (!is_another_build(record, other) || *other.times.time_us > kFaster * *record.times.time_us) continue;
    if (fastest == nullptr || *other.times.time_us < *fastest->times.time_us) fastest = &other;
  }
  if (fastest == nullptr) return std::nullopt;
  return FasterBuild{.variant = fastest->identity.variant,
                     .registers_per_thread = fastest->compiled->usage.registers_per_thread,
                     .achieved_pct = *fastest->readings.counters.achieved_pct,
                     .time_us = *fastest->times.time_us};
}

}  // namespace occbench
