#include <algorithm>
#include <optional>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/pointer_chase.hpp"
#include "kernels/reads.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench::bench_latency_hiding {
namespace {

/// One warp on each sub-partition of an SM with four.
constexpr int kBlockThreads = 128;
constexpr int kBlocksPerSm[] = {1, 2, 3, 4, 6, 8, 12, 16};
constexpr double kCycles = 400'000;
/// A launch reads at most this many times the size of L2.
constexpr int kL2Times = 16;

/// One whole wave with so many blocks per SM, limited by padding of shared memory. The carveout is the
/// smallest that allows a full SM, so L1 has the same size at every occupancy. With the driver's choice the
/// padding would leave an H200's SM 28 KB of 256, and then reads of old warps are served first
/// (docs/prediction.md, "Device memory").
std::optional<Launch> wave_of(const Planner& on, const Kernel& kernel, std::string_view variant, int blocks) {
  Launch launch{.block_threads = kBlockThreads};
  const int full = on.occupancy(kernel, variant, launch).blocks_per_sm;
  for (launch.carveout_pct = 0; on.occupancy(kernel, variant, launch).blocks_per_sm < full;) {
    ++*launch.carveout_pct;
  }
  return on.padded_wave(kernel, variant, launch, blocks);
}

bool few_or_many(int blocks) {
  return blocks == 1 || blocks == 4 || blocks == 8 || blocks == 16;
}

std::optional<Case> make_arithmetic(const Planner& on, int chains, int blocks) {
  const std::string_view variant = fma_chains_variant(ChainBody::fma, chains);
  const auto launch = wave_of(on, kFmaChains, variant, blocks);
  if (!launch) return std::nullopt;
  const int warps = blocks * kBlockThreads / on.limits().threads_per_warp / on.limits().sub_partitions;
  const bool smoke = chains == 4 && blocks == 8;
  return Case{.kernel = &kFmaChains,
              .variant = variant,
              .launch = *launch,
              .work = fma_chains_work(on.limits(), ChainBody::fma, chains, warps, kCycles),
              .suite = smoke                                ? Suite::smoke
                       : few_or_many(blocks) && chains != 8 ? Suite::quick
                                                            : Suite::full,
              .parameters = {{"chains", std::to_string(chains)}, {"blocks_per_sm", std::to_string(blocks)}},
              .expected_cause =
                  on.cause_of_limit(kFmaChains, variant, *launch, "shared_memory_limit", "issue_contention")};
}

std::optional<Case> make_reads(const Planner& on, int bytes, int in_flight, int blocks) {
  const std::string_view variant = reads_variant(bytes, in_flight);
  const auto launch = wave_of(on, kReads, variant, blocks);
  if (!launch) return std::nullopt;
  const auto waits = std::min(static_cast<std::int64_t>(kCycles / kernel_cost("reads", "read_cycles")),
                              most_waits(on.device(), *launch, bytes, in_flight, kL2Times));
  const bool smoke = bytes == 16 && in_flight == 4 && blocks == 8;
  const bool quick = few_or_many(blocks) && bytes != 8 && (in_flight == 1 || in_flight == 4);
  return Case{.kernel = &kReads,
              .variant = variant,
              .launch = *launch,
              .work = reads_work(bytes, in_flight, waits),
              .suite = smoke   ? Suite::smoke
                       : quick ? Suite::quick
                               : Suite::full,
              .parameters = {{"bytes", std::to_string(bytes)},
                             {"in_flight", std::to_string(in_flight)},
                             {"blocks_per_sm", std::to_string(blocks)}},
              .expected_cause =
                  on.cause_of_limit(kReads, variant, *launch, "shared_memory_limit", "memory_contention")};
}

/// As many bytes as the largest reads, half of them read and half written.
Case make_copy(const Planner& on) {
  return {.kernel = &kReads,
          .variant = "copy",
          .extent = kL2Times / 2 * static_cast<std::int64_t>(on.device().l2_bytes),
          .suite = Suite::smoke};
}

Case make_chase(const Planner& on, const std::string& memory, std::int64_t extent, std::int64_t loads) {
  return {.kernel = &kPointerChase,
          .variant = "plain",
          .launch = {.block_threads = on.limits().threads_per_warp, .grid_blocks = 1},
          .work = pointer_chase_work(on.device(), extent, loads),
          .extent = extent,
          .suite = memory == "l1" ? Suite::smoke : Suite::quick,
          .parameters = {{"memory", memory}},
          .expected_cause = "small_grid+block_size_limit"};
}

std::vector<Case> cases(const Planner& on) {
  const auto l2_bytes = static_cast<std::int64_t>(on.device().l2_bytes);
  // Enough loads that initial cache misses do not matter.
  std::vector<Case> cases = {make_copy(on), make_chase(on, "l1", 8LL * 1024, 20'000),
                             make_chase(on, "l2", 1024LL * 1024, 10'000),
                             make_chase(on, "device", 4 * l2_bytes, 1'000)};
  const auto add = [&](const std::optional<Case>& made) {
    if (made) cases.push_back(*made);
  };
  for (const int blocks : kBlocksPerSm) {
    for (const int chains : kChainCounts) add(make_arithmetic(on, chains, blocks));
    for (const int bytes : kReadBytes) {
      for (const int in_flight : kReadsInFlight) add(make_reads(on, bytes, in_flight, blocks));
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "latency_hiding",
    "far less than full occupancy is enough where threads have independent work: what counts is how much is "
    "in flight, from warps or within them",
    "Volkov, Better Performance at Lower Occupancy; CUDA C++ Best Practices Guide, occupancy", cases};

}  // namespace occbench::bench_latency_hiding
