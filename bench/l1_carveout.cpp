#include <algorithm>
#include <optional>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/reread.hpp"

namespace occbench {
namespace {

/// What the SM's L1 serves in about so many cycles, at 64 bytes a cycle.
constexpr std::int64_t kBytesPerSm = 64LL * 300'000;

/// Multiples of 16 KB around what carveouts leave of L1.
constexpr std::int64_t kKilobytes[] = {16, 32, 64, 96, 128, 160, 192, 208, 224, 256, 384};

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const std::int64_t kilobytes : kKilobytes) {
    for (const std::optional<int> carveout : {std::optional<int>(), {0}, {25}, {50}, {75}, {100}}) {
      Launch launch{.block_threads = kRereadBlockThreads, .carveout_pct = carveout};
      launch.grid_blocks = on.wave(kReread, "plain", launch);
      const std::int64_t extent = kilobytes * 1024;
      const std::int64_t blocks_per_sm = launch.grid_blocks / on.device().sm_count;
      const std::int64_t rounds = std::max<std::int64_t>(1, kBytesPerSm / (blocks_per_sm * extent));
      const bool ends = carveout == 0 || carveout == 100;
      const bool quick = ends && (kilobytes == 16 || kilobytes == 96 || kilobytes == 160 || kilobytes == 384);
      cases.push_back({.kernel = &kReread,
                       .variant = "plain",
                       .launch = launch,
                       .work = reread_work(extent, rounds),
                       .extent = extent,
                       .suite = kilobytes == 16 && carveout == 100 ? Suite::smoke
                                : quick                            ? Suite::quick
                                                                   : Suite::full,
                       .parameters = {{"kilobytes", std::to_string(kilobytes)},
                                      {"carveout_pct", carveout ? std::to_string(*carveout) : "default"}}});
    }
  }
  return cases;
}

}  // namespace

const Experiment experiment{
    "l1_carveout", "a kernel without shared memory gains when all of it becomes L1",
    "CUDA C++ Programming Guide, shared memory and the unified data cache; tuning guides, the carveout",
    cases};

}  // namespace occbench
