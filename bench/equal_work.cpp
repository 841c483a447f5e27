#include <string>
#include <vector>

#include "harness/experiment.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/spin.hpp"
#include "kernels/work_queue.hpp"

namespace occbench::bench_equal_work {
namespace {

constexpr double kWaves = 4;
constexpr int kBlockThreads = 256;
/// For a warp that is not slow.
constexpr double kCycles = 20'000;

/// Differences between the warps of a launch.
struct Imbalance {
  std::string name;
  Distribution distribution;
};

/// The same number of warps, each with the mean work.
Work spread_evenly(const Work& work, std::int64_t warps) {
  double total = 0;
  for (std::int64_t warp = 0; warp < warps; ++warp) total += static_cast<double>(work.cycles_of(warp, warps));
  return Work::equal(total / static_cast<double>(warps));
}

Case make_case(const std::string& problem, const std::string& remedy, const Kernel& kernel,
               std::string_view variant, const Launch& launch, Suite suite) {
  return {.kernel = &kernel,
          .variant = variant,
          .launch = launch,
          .suite = suite,
          .parameters = {{"problem", problem}, {"remedy", remedy}}};
}

/// Blocks of one warp are as uneven as their warps, and too many for the block slots of an SM.
std::string cause_of(const Planner& on, const std::string& remedy, const Launch& launch) {
  if (remedy == "spread_evenly") return "overhead";
  return on.cause_of_limit(kSpin, "plain", launch, "block_size_limit+", "") +
         (remedy == "none" ? "uneven_warps" : "uneven_warps+uneven_blocks");
}

/// Uneven warps within a block: its resources stay allocated until its slowest warp ends.
void add_uneven_warps(std::vector<Case>& cases, const Planner& on, const Imbalance& imbalance, Suite suite) {
  const int warp_threads = on.limits().threads_per_warp;
  Launch launch{.block_threads = kBlockThreads};
  launch.grid_blocks = on.grid(kSpin, "plain", launch, kWaves);
  const std::int64_t warps = launch.grid_blocks * (kBlockThreads / warp_threads);
  const Work uneven{.cycles = kCycles, .distribution = imbalance.distribution, .per_warp = true};
  const auto add_spin = [&](const std::string& remedy, const Launch& of, const Work& work) {
    Case made = make_case(imbalance.name, remedy, kSpin, "plain", of, suite);
    made.work = work;
    made.expected_cause = cause_of(on, remedy, of);
    cases.push_back(made);
  };
  add_spin("none", launch, uneven);
  add_spin("spread_evenly", launch, spread_evenly(uneven, warps));
  for (const int warps_per_block : {2, 1}) {
    add_spin("blocks_of_" + std::to_string(warps_per_block * warp_threads),
             {.block_threads = warps_per_block * warp_threads, .grid_blocks = warps / warps_per_block},
             uneven);
  }
  Launch persistent{.block_threads = kBlockThreads};
  persistent.grid_blocks = on.wave(kWorkQueue, "of_warps", persistent);
  Case queue = make_case(imbalance.name, "queue_of_warps", kWorkQueue, "of_warps", persistent, suite);
  queue.items = Items{.count = warps, .work = {.cycles = kCycles, .distribution = imbalance.distribution}};
  queue.expected_cause = "uneven_blocks";
  cases.push_back(queue);
}

/// One and a half blocks per SM: issue-bound work takes longest on SMs with two. The same warps in blocks of
/// other sizes give every SM the same number.
void add_uneven_sms(std::vector<Case>& cases, const Planner& on) {
  constexpr int kWarpsPerSm = 24;
  constexpr int kUnevenWarps = 16;
  constexpr int kChains = 4;
  constexpr double kIssueBoundCycles = 400'000;
  const std::string_view variant = fma_chains_variant(ChainBody::fma, kChains);
  const int warps_of_scheduler = kWarpsPerSm / on.limits().sub_partitions;
  const Work work =
      fma_chains_work(on.limits(), ChainBody::fma, kChains, warps_of_scheduler, kIssueBoundCycles);
  const std::int64_t warps = static_cast<std::int64_t>(on.device().sm_count) * kWarpsPerSm;
  for (const int warps_per_block : {kUnevenWarps, 32, 24, 12, 8}) {
    const int threads = warps_per_block * on.limits().threads_per_warp;
    const bool plain = warps_per_block == kUnevenWarps;
    Case made = make_case("blocks_that_sms_do_not_share_evenly",
                          plain ? "none" : "blocks_of_" + std::to_string(threads), kFmaChains, variant,
                          {.block_threads = threads, .grid_blocks = warps / warps_per_block}, Suite::quick);
    made.work = work;
    made.expected_cause = "small_grid";
    cases.push_back(made);
  }
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  add_uneven_warps(cases, on, {"one_warp_in_8_times_4", {WorkForm::every, {8, 4}}}, Suite::smoke);
  add_uneven_warps(cases, on, {"one_warp_in_8_times_16", {WorkForm::every, {8, 16}}}, Suite::quick);
  add_uneven_warps(cases, on, {"lognormal", {WorkForm::lognormal, {0.75}, 1}}, Suite::full);
  add_uneven_sms(cases, on);
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "equal_work",
    "the same work takes less time if warps of a block share it evenly, if each warp "
    "takes it from a queue, if blocks are "
    "narrower, and if all SMs have the same number of blocks",
    "achieved-occupancy translation, unbalanced workload within and between blocks", cases};

}  // namespace occbench::bench_equal_work
