#include "kernels/atomic_operations.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "harness/experiment.hpp"

namespace occbench::bench_atomic_operations {
namespace {

std::vector<Case> cases(const Planner& on) {
  constexpr int kFullDevices = 2;
  const std::int64_t blocks = on.blocks_of_full_device(kAtomicOperationsBlockThreads, kFullDevices);
  std::vector<Case> cases;
  const auto add = [&](const std::string& addresses, std::int64_t threads_per_address) {
    for (const Variant& variant : kAtomicOperations.variants) {
      cases.push_back({.kernel = &kAtomicOperations,
                       .variant = variant.name,
                       .launch = {.block_threads = kAtomicOperationsBlockThreads, .grid_blocks = blocks},
                       .extent = threads_per_address,
                       .suite = addresses == "one" ? Suite::full : Suite::quick,
                       .parameters = {{"addresses", addresses}, {"operation", std::string(variant.name)}},
                       .expected_cause = threads_per_address == 1 ? "atomics+overhead+memory_contention"
                                                                  : "atomics+overhead"});
    }
  };
  add("one", std::numeric_limits<std::int64_t>::max());
  add("one_a_block", kAtomicOperationsBlockThreads);
  add("one_a_thread", 1);
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "atomic_operations",
    "an atomic subtraction, maximum, minimum or compare-and-swap costs what an atomic addition costs",
    "atomics and occupancy note, numba.cuda.atomic; CUDA C++ Programming Guide, atomic functions", cases};

}  // namespace occbench::bench_atomic_operations
