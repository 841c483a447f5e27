#include <string>

#include "harness/experiment.hpp"
#include "kernels/fma_chains.hpp"

namespace occbench::bench_pipe_saturation {
namespace {

/// One warp on each sub-partition of an SM with four.
constexpr int kBlockThreads = 128;
constexpr int kBlocksPerSm[] = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr double kCycles = 400'000;

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  const auto add = [&](ChainBody body, const std::string& pipe, int chains, int blocks) {
    const std::string_view variant = fma_chains_variant(body, chains);
    const auto launch = on.padded_wave(kFmaChains, variant, {.block_threads = kBlockThreads}, blocks);
    if (!launch) return;
    const int warps = blocks * kBlockThreads / on.limits().threads_per_warp / on.limits().sub_partitions;
    const bool quick = blocks == 1 || blocks == 4 || blocks == 8 || blocks == 16;
    cases.push_back({.kernel = &kFmaChains,
                     .variant = variant,
                     .launch = *launch,
                     .work = fma_chains_work(on.limits(), body, chains, warps, kCycles),
                     .suite = chains == 1 && blocks == 8 ? Suite::smoke
                              : quick                    ? Suite::quick
                                                         : Suite::full,
                     .parameters = {{"pipe", pipe},
                                    {"chains", std::to_string(chains)},
                                    {"blocks_per_sm", std::to_string(blocks)}},
                     .expected_cause = on.cause_of_limit(kFmaChains, variant, *launch, "shared_memory_limit",
                                                         "issue_contention")});
  };
  for (const int chains : {1, 4}) {
    for (const int blocks : kBlocksPerSm) {
      add(ChainBody::fma, "fp32", chains, blocks);
      add(ChainBody::exponential, "xu", chains, blocks);
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "pipe_saturation",
    "more warps get more done until the pipe that they need is full, and nothing after that",
    "CUDA C++ Programming Guide, maximize instruction throughput; Nsight Compute documentation, pipelines",
    cases};

}  // namespace occbench::bench_pipe_saturation
