#include "kernels/reductions.hpp"

#include <string>

#include "harness/experiment.hpp"
#include "kernels/reads.hpp"

namespace occbench::bench_reductions {
namespace {

/// 256 MiB: more than L2 holds, and small enough for the check's whole numbers.
constexpr std::int64_t kValues = 1 << 26;
constexpr int kValuesPerLoad = 4;
constexpr int kClusterBlocks = 8;

Case make_case(std::string_view variant, const std::string& grid, const Launch& launch, Suite suite) {
  return {.kernel = &kReductions,
          .variant = variant,
          .launch = launch,
          .extent = kValues,
          .suite = suite,
          .parameters = {{"by", std::string(variant)}, {"grid", grid}},
          .cold = true};
}

/// Whole waves of whole clusters.
std::int64_t wave(const Planner& on, std::string_view variant, const Launch& launch) {
  return on.wave(kReductions, variant, launch) / launch.cluster_blocks * launch.cluster_blocks;
}

void add_variant(std::vector<Case>& cases, const Planner& on, std::string_view variant, Suite suite) {
  Launch launch{.block_threads = kReductionThreads,
                .cluster_blocks = variant == "cluster" ? kClusterBlocks : 1};
  launch.grid_blocks = wave(on, variant, launch);
  cases.push_back(make_case(variant, "wave", launch, suite));
  launch.grid_blocks = kValues / kValuesPerLoad / kReductionThreads;
  cases.push_back(make_case(variant, "load_a_thread", launch, Suite::full));
}

/// As many bytes, read by the suite's fastest reads and not summed across threads: the limit of device
/// memory.
Case read_only(const Planner& on) {
  constexpr int kBytes = 16;
  constexpr int kInFlight = 4;
  Launch launch{.block_threads = kReadsBlockThreads};
  launch.grid_blocks = on.wave(kReads, reads_variant(kBytes, kInFlight), launch);
  const std::int64_t bytes_of_wait = launch.grid_blocks * launch.block_threads * kBytes * kInFlight;
  const std::int64_t bytes = kValues * static_cast<std::int64_t>(sizeof(float));
  return {.kernel = &kReads,
          .variant = reads_variant(kBytes, kInFlight),
          .launch = launch,
          .work = reads_work(kBytes, kInFlight, bytes / bytes_of_wait),
          .suite = Suite::quick,
          .parameters = {{"by", "nothing"}, {"grid", "wave"}},
          .cold = true,
          .expected_cause = on.cause_of_limit(kReads, reads_variant(kBytes, kInFlight), launch,
                                              "register_limit", "memory_contention")};
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases = {read_only(on)};
  for (const std::string_view variant : {"thread", "warp", "serial", "cooperative_groups", "cub_block"})
    add_variant(cases, on, variant, Suite::quick);
  for (const std::string_view variant : {"shuffle", "last_block"})
    add_variant(cases, on, variant, Suite::smoke);
  if (on.limits().max_cluster_blocks > 1) add_variant(cases, on, "cluster", Suite::quick);
  cases.push_back(make_case("cub_device", "its_own", {}, Suite::smoke));
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "reductions",
    "a sum over device memory is as fast as the memory allows if blocks sum first "
    "and one result leaves a block; atomics of "
    "threads or warps, or one thread that sums for its block, cost more",
    "atomics and occupancy note; CUDA C++ Programming Guide, warp shuffle functions, "
    "cooperative groups and thread block "
    "clusters; CUB, DeviceReduce",
    cases};

}  // namespace occbench::bench_reductions
