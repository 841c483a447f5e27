#include <algorithm>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/reads.hpp"
#include "kernels/results_per_thread.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench::bench_eligible_warps {
namespace {

/// One warp on each sub-partition of an SM with four.
constexpr int kBlockThreads = 128;
constexpr int kBlocksPerSm[] = {1, 2, 4, 8, 16};
constexpr double kCycles = 400'000;
/// A launch reads at most this many times the size of L2.
constexpr int kL2Times = 16;
constexpr int kReadBytes = 16;
constexpr int kInFlight = 2;

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const int blocks : kBlocksPerSm) {
    const auto add = [&](const std::string& bound, const Kernel& kernel, std::string_view variant,
                         const std::string& cause, const auto& describe) {
      const auto launch = on.padded_wave(kernel, variant, {.block_threads = kBlockThreads}, blocks);
      if (!launch) return;
      Case made{.kernel = &kernel,
                .variant = variant,
                .launch = *launch,
                .suite = blocks == 1 || blocks == 16 ? Suite::quick : Suite::full,
                .parameters = {{"bound_by", bound}, {"blocks_per_sm", std::to_string(blocks)}},
                .expected_cause = on.cause_of_limit(kernel, variant, *launch, "shared_memory_limit", cause)};
      describe(made);
      cases.push_back(made);
    };
    const int warps = blocks * kBlockThreads / on.limits().threads_per_warp / on.limits().sub_partitions;
    const auto chains = [&](ChainBody body) {
      return [&, body](Case& made) { made.work = fma_chains_work(on.limits(), body, 4, warps, kCycles); };
    };
    add("latency", kResultsPerThread, results_variant(ResultsBody::walks_in_turn, 8), "none", [](Case&) {});
    add("fp32", kFmaChains, fma_chains_variant(ChainBody::fma, 4), "issue_contention",
        chains(ChainBody::fma));
    add("xu", kFmaChains, fma_chains_variant(ChainBody::exponential, 4), "issue_contention",
        chains(ChainBody::exponential));
    add("memory", kReads, reads_variant(kReadBytes, kInFlight), "memory_contention", [&](Case& made) {
      const double cycles = kernel_cost("reads", "read_cycles");
      made.work = reads_work(kReadBytes, kInFlight,
                             std::min(static_cast<std::int64_t>(kCycles / cycles),
                                      most_waits(on.device(), made.launch, kReadBytes, kInFlight, kL2Times)));
    });
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{"eligible_warps",
                                   "more active warps give the scheduler more eligible ones and let it issue "
                                   "more often, but not once a pipe "
                                   "or the memory is full",
                                   "achieved-occupancy translation, analysis and pipe utilization", cases};

}  // namespace occbench::bench_eligible_warps
