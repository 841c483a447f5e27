#include "harness/planned_case.hpp"

#include <algorithm>
#include <utility>

#include "gpu/error.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

void cannot_launch(CaseRecord& record, std::string why) {
  record.times.status = TimeStatus::skipped;
  record.note = std::move(why);
}

/// Usage and theory, which need no launch.
void add_usage_and_theory(CaseRecord& record, const Variant& variant, const Device& device,
                          Instruments& instruments) {
  try {
    record.compiled = variant.compiled ? *variant.compiled : instruments.inspect(variant);
    const Usage& usage = record.compiled->usage;
    const Occupancy occupancy = theoretical_occupancy(device.limits, *record.launch, usage);
    record.theory = theory_of(occupancy, *record.launch, device.sm_count);
    if (occupancy.blocks_per_sm == 0)
      cannot_launch(record, why_it_cannot_launch(device.limits, *record.launch, usage));
  } catch (const GpuUnavailable& unavailable) {
    cannot_launch(record, unavailable.what());
  } catch (const InputError& refused) {
    cannot_launch(record, refused.what());
  }
}

}  // namespace

PlannedCase plan_case(Case chosen, std::string_view experiment_name, const Provenance& provenance,
                      const Device& device, Instruments& instruments) {
  const Variant& variant = chosen.built ? *chosen.built : chosen.kernel->find(chosen.variant);
  CaseRecord known;
  known.provenance = provenance;
  known.identity = {.experiment = std::string(experiment_name),
                    .name = case_name(chosen),
                    .kernel = std::string(chosen.kernel->name),
                    .variant = std::string(chosen.variant),
                    .parameters = chosen.parameters,
                    .work = chosen.work,
                    .work_source = chosen.work ? source_of_given(*chosen.work) : "",
                    .expected_cause = chosen.expected_cause};
  known.note = chosen.note;
  if (variant.function == nullptr && !variant.compiled) {
    known.note = "the runtime launches it: kernel, launch and theory are not known";
  } else {
    if (!chosen.work) add_note(known.note, "no work string says what its blocks do: nothing is predicted");
    known.launch = chosen.launch;
    add_usage_and_theory(known, variant, device, instruments);
  }
  std::string name = full_name(known.identity);
  return {std::move(chosen), &variant, std::move(known), std::move(name)};
}

Case make_small(Case chosen) {
  constexpr std::int64_t kBlocks = 8;
  constexpr double kCycles = 2'000;
  chosen.small = true;
  chosen.launch.grid_blocks = std::min(chosen.launch.grid_blocks, kBlocks * chosen.launch.cluster_blocks);
  const auto shortened = [](const Work& work) { return work.scaled(std::min(1.0, kCycles / work.cycles)); };
  if (chosen.work) chosen.work = shortened(*chosen.work);
  if (chosen.items) {
    chosen.items->count = std::min(chosen.items->count, 2 * kBlocks);
    chosen.items->work = shortened(chosen.items->work);
  }
  return chosen;
}

}  // namespace occbench
