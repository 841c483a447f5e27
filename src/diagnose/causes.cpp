#include "diagnose/claim.hpp"

namespace occbench {
namespace {

constexpr CauseRule kRules[] = {
    {Cause::small_grid, small_grid},
    {Cause::tail, tail},
    {Cause::clusters, clusters},
    {Cause::uneven_blocks, uneven_blocks},
    {Cause::uneven_warps, uneven_warps},
    {Cause::overhead, overhead},
    {Cause::spills, spills},
    {Cause::atomics, atomics},
    {Cause::memory_contention, memory_contention},
    {Cause::issue_contention, issue_contention},
    {Cause::barriers, barriers},
    {Cause::register_limit, register_limit},
    {Cause::shared_memory_limit, shared_memory_limit},
    {Cause::block_size_limit, block_size_limit},
    {Cause::barrier_limit, barrier_limit},
    {Cause::another_launch, another_launch},
    {Cause::idle_sms, idle_sms},
    {Cause::low_occupancy_suffices, low_occupancy_suffices},
    {Cause::idle_lanes, idle_lanes},
    {Cause::unused_shared_memory, unused_shared_memory},
    {Cause::faster_build, faster_build},
    {Cause::prediction_differs, prediction_differs},
};

}  // namespace

std::span<const CauseRule> cause_rules() {
  return kRules;
}

std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns) {
  std::vector<Evidence> evidence;
  for (const auto& [column, value] : columns) {
    if (value) evidence.push_back({column, *value});
  }
  return evidence;
}

}  // namespace occbench
