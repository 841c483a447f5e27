#include <string>

#include "harness/experiment.hpp"
#include "kernels/live_registers.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_partial_warps {
namespace {

constexpr int kBlockSizes[] = {1, 16, 31, 32, 33, 48, 64};
constexpr double kSpinWaves = 4;
constexpr double kSpinCycles = 200'000;
/// Blocks of one warp are short, so many waves keep their start from dominating the time.
constexpr double kWaves = 8;
constexpr int kRounds = 32;

std::vector<Case> cases(const Planner& on) {
  const int registers = kLiveRegisterCounts[0];
  const std::string_view multiply_adds = live_registers_variant(LiveRegistersBody::throughput, registers);
  std::vector<Case> cases;
  for (const int block_threads : kBlockSizes) {
    const bool smoke = block_threads == 1 || block_threads == 33;
    const bool quick = block_threads != 16 && block_threads != 48;
    const auto add = [&](const Kernel& kernel, std::string_view variant, const Work& work, double waves,
                         Suite suite) {
      Launch launch{.block_threads = block_threads};
      launch.grid_blocks = on.grid(kernel, variant, launch, waves);
      cases.push_back(
          {.kernel = &kernel,
           .variant = variant,
           .launch = launch,
           .work = work,
           .suite = suite,
           .parameters = {{"block_threads", std::to_string(block_threads)}},
           .expected_cause = on.cause_of_limit(kernel, variant, launch, "block_size_limit", "overhead")});
    };
    add(kLiveRegisters, multiply_adds, live_registers_work(LiveRegistersBody::throughput, registers, kRounds),
        kWaves,
        smoke   ? Suite::smoke
        : quick ? Suite::quick
                : Suite::full);
    add(kSpin, "plain", Work::equal(kSpinCycles), kSpinWaves, Suite::full);
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "partial_warps",
    "occupancy counts warps, not lanes: a block of one thread takes a whole warp, and the lanes that it "
    "leaves idle do "
    "not show",
    "achieved-occupancy translation; CUDA C++ Programming Guide, hardware multithreading", cases};

}  // namespace occbench::bench_partial_warps
