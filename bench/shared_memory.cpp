#include <optional>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/shared_staging.hpp"

namespace occbench::bench_shared_memory {
namespace {

constexpr double kWaves = 4;
constexpr double kCycles = 100'000;
constexpr std::int64_t kExampleBytes = 100 * 1024;

Case make_case(const Planner& on, std::string_view variant, Launch launch, Suite suite) {
  launch.grid_blocks = on.grid(kSharedStaging, variant, launch, kWaves);
  Case made{
      .kernel = &kSharedStaging,
      .variant = variant,
      .launch = launch,
      .work = Work::equal(kCycles),
      .suite = suite,
      .expected_cause = on.cause_of_limit(kSharedStaging, variant, launch, "shared_memory_limit", "none")};
  made.parameters = {{"block_threads", std::to_string(launch.block_threads)},
                     {"dynamic_bytes", std::to_string(launch.dynamic_shared_bytes)}};
  if (launch.carveout_pct) made.parameters.emplace_back("carveout_pct", std::to_string(*launch.carveout_pct));
  return made;
}

/// Both sides of each size at which one block fewer fits: the most bytes with which it still fits, and one
/// more.
void add_cliffs(std::vector<Case>& cases, const Planner& on, int block_threads) {
  const Launch launch{.block_threads = block_threads};
  const int most = on.occupancy(kSharedStaging, "dynamic", launch).blocks_per_sm;
  for (int blocks = most - 1; blocks >= 1; --blocks) {
    const std::optional<std::int64_t> falls = on.shared_bytes_for(kSharedStaging, "dynamic", launch, blocks);
    if (!falls || *falls == 0) continue;
    const std::int64_t edge = *falls - on.limits().shared_allocation_unit;
    const bool quick = block_threads == 256 && (blocks == most - 1 || blocks == 1);
    for (const std::int64_t bytes : {edge, edge + 1}) {
      Launch filled = launch;
      filled.dynamic_shared_bytes = bytes;
      cases.push_back(make_case(on, "dynamic", filled, quick ? Suite::quick : Suite::full));
    }
  }
}

/// A kernel whose blocks need more shared memory than the smallest carveouts leave.
void add_carveouts(std::vector<Case>& cases, const Planner& on) {
  for (const std::int64_t kilobytes : {4, 8, 16, 24}) {
    for (const int carveout : {0, 25, 50, 100}) {
      const Launch launch{
          .block_threads = 256, .dynamic_shared_bytes = kilobytes * 1024, .carveout_pct = carveout};
      const bool quick = kilobytes == 16 && (carveout == 0 || carveout == 100);
      cases.push_back(make_case(on, "dynamic", launch, quick ? Suite::quick : Suite::full));
    }
  }
}

std::vector<Case> cases(const Planner& on) {
  const std::int64_t most_bytes = on.limits().max_shared_bytes_per_block;
  std::vector<Case> cases = {
      make_case(on, "dynamic", {.block_threads = 256}, Suite::quick),
      make_case(on, "dynamic", {.block_threads = 256, .dynamic_shared_bytes = kExampleBytes}, Suite::smoke),
      make_case(on, "dynamic", {.block_threads = 512, .dynamic_shared_bytes = most_bytes}, Suite::smoke),
      make_case(on, "dynamic", {.block_threads = 512, .dynamic_shared_bytes = most_bytes + 1}, Suite::quick)};
  for (const int bytes : kSharedStagingStaticBytes) {
    cases.push_back(make_case(on, shared_staging_variant(bytes), {.block_threads = 256},
                              bytes == 49'152 ? Suite::smoke : Suite::full));
  }
  for (const int block_threads : {128, 256, 512, 1024}) add_cliffs(cases, on, block_threads);
  add_carveouts(cases, on);
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "shared_memory",
    "shared memory per block limits how many blocks an SM holds: with 100 KB a block of 256 threads there "
    "are two on "
    "compute capability 9.0 and 10.0, and a larger carveout lets more in",
    "atomics and occupancy note, the 100 KB example; CUDA C++ Programming Guide, shared memory", cases};

}  // namespace occbench::bench_shared_memory
