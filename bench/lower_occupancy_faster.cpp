#include <string>

#include "harness/experiment.hpp"
#include "kernels/results_per_thread.hpp"

namespace occbench::bench_lower_occupancy_faster {
namespace {

/// 100, 75, 50 and 25 % of an SM of 2,048 threads.
constexpr int kBlocksPerSm[] = {8, 6, 4, 2};
/// For full SMs with eight results per thread; with one result it is eight times as many.
constexpr int kWaves = 4;

std::vector<Case> cases(const Planner& on) {
  const std::int64_t extent = results_extent(on.device().sm_count, kWaves);
  std::vector<Case> cases;
  for (const ResultsBody body : kResultsBodies) {
    for (const int results : kResultsPerThreadCounts) {
      for (const int blocks : kBlocksPerSm) {
        const std::string_view variant = results_variant(body, results);
        auto launch = on.padded_wave(kResultsPerThread, variant,
                                     {.block_threads = kResultsPerThreadBlockThreads}, blocks);
        if (!launch) continue;
        launch->grid_blocks = extent / (static_cast<std::int64_t>(results) * kResultsPerThreadBlockThreads);
        const bool end = (results == 1 || results == 8) && (blocks == 8 || blocks == 2);
        cases.push_back({.kernel = &kResultsPerThread,
                         .variant = variant,
                         .launch = *launch,
                         .extent = extent,
                         .suite = end ? Suite::quick : Suite::full,
                         .parameters = {{"body", std::string(to_string(body))},
                                        {"results", std::to_string(results)},
                                        {"blocks_per_sm", std::to_string(blocks)}},
                         .expected_cause = on.cause_of_limit(kResultsPerThread, variant, *launch,
                                                             "shared_memory_limit", "")});
      }
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "lower_occupancy_faster",
    "a quarter of the warps with eight results a thread finish the same work sooner than a full SM with one "
    "result a thread",
    "Volkov, Better Performance at Lower Occupancy (GTC 2010)", cases};

}  // namespace occbench::bench_lower_occupancy_faster
