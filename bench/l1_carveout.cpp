#include <optional>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/l1_reuse.hpp"

namespace occbench::bench_l1_carveout {
namespace {

/// Multiples of 16 KB around the L1 sizes that carveouts leave.
constexpr std::int64_t kKilobytes[] = {16, 32, 64, 96, 128, 160, 192, 208, 224, 256, 384};

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const std::int64_t kilobytes : kKilobytes) {
    for (const std::optional<int> carveout : {std::optional<int>(), {0}, {25}, {50}, {75}, {100}}) {
      Launch launch{.block_threads = kL1ReuseBlockThreads, .carveout_pct = carveout};
      launch.grid_blocks = on.wave(kL1Reuse, "plain", launch);
      const std::int64_t extent = kilobytes * 1024;
      const bool ends = carveout == 0 || carveout == 100;
      const bool quick = ends && (kilobytes == 16 || kilobytes == 96 || kilobytes == 160 || kilobytes == 384);
      cases.push_back({.kernel = &kL1Reuse,
                       .variant = "plain",
                       .launch = launch,
                       .extent = extent,
                       .suite = kilobytes == 16 && carveout == 100 ? Suite::smoke
                                : quick                            ? Suite::quick
                                                                   : Suite::full,
                       .parameters = {{"kilobytes", std::to_string(kilobytes)},
                                      {"carveout_pct", carveout ? std::to_string(*carveout) : "default"}},
                       .expected_cause = "memory_contention"});
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "l1_carveout", "a kernel without shared memory gains when all of it becomes L1",
    "CUDA C++ Programming Guide, shared memory and the unified data cache; tuning guides, the carveout",
    cases};

}  // namespace occbench::bench_l1_carveout
