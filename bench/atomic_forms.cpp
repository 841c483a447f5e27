#include "kernels/atomic_forms.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "harness/experiment.hpp"

namespace occbench::bench_atomic_forms {
namespace {

/// Threads per address, and the number of blocks that add.
struct Addresses {
  std::string name;
  std::int64_t threads_per_address;
  std::int64_t blocks;
};

std::vector<Addresses> addresses_on(const Planner& on) {
  // Few, because in compare-and-swap loops on one address only one thread succeeds per round trip to L2.
  constexpr int kFullDevices = 2;
  const std::int64_t many = on.blocks_of_full_device(kAtomicFormsBlockThreads, kFullDevices);
  const std::int64_t few = std::max(1, on.device().sm_count / 8);
  return {{"one", std::numeric_limits<std::int64_t>::max(), few},
          {"one_a_block", kAtomicFormsBlockThreads, many},
          {"one_a_thread", 1, many}};
}

Suite suite_of(AtomicForm form, AtomicType type, AtomicScope scope, const Addresses& addresses) {
  if (addresses.name == "one_a_thread" || type == AtomicType::uint64) return Suite::full;
  const bool plain = form == AtomicForm::function && scope == AtomicScope::device;
  // The placement of many addresses in L2 differs between processes, by up to 6 % of the time.
  if (plain && type == AtomicType::uint32 && addresses.name == "one") return Suite::smoke;
  return scope == AtomicScope::device ? Suite::quick : Suite::full;
}

std::string cause_of(const Addresses& addresses) {
  if (addresses.name == "one") return "small_grid";
  return addresses.threads_per_address == 1 ? "atomics+overhead+memory_contention" : "atomics+overhead";
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const Addresses& addresses : addresses_on(on)) {
    for (const AtomicType type : kAtomicTypes) {
      for (const AtomicForm form : kAtomicFormKinds) {
        for (const AtomicScope scope : kAtomicScopes) {
          // Atomics of block scope are not atomic between blocks.
          if (scope == AtomicScope::block && addresses.name == "one") continue;
          const auto variant = std::ranges::find(kAtomicForms.variants,
                                                 atomic_forms_variant(form, type, scope), &Variant::name);
          cases.push_back(
              {.kernel = &kAtomicForms,
               .variant = variant->name,
               .launch = {.block_threads = kAtomicFormsBlockThreads, .grid_blocks = addresses.blocks},
               .extent = addresses.threads_per_address,
               .suite = suite_of(form, type, scope, addresses),
               .parameters = {{"addresses", addresses.name},
                              {"form", std::string(to_string(form))},
                              {"type", std::string(to_string(type))},
                              {"scope", std::string(to_string(scope))}},
               .expected_cause = cause_of(addresses)});
        }
      }
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "atomic_forms",
    "an atomic add is faster than a loop of compare-and-swap, a wider scope costs nothing by itself, the "
    "default order (sequentially consistent) costs more than relaxed, and atomicAdd as much as relaxed",
    "atomics and occupancy note; libcu++ documentation, memory model and thread scopes", cases};

}  // namespace occbench::bench_atomic_forms
