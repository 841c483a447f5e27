#include <string>

#include "harness/experiment.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_block_size {
namespace {

constexpr double kWaves = 4;
constexpr double kCycles = 400'000;

std::vector<int> block_sizes(const Limits& limits) {
  std::vector<int> sizes = {1, 33, 70, 100, 160};
  for (int size = limits.threads_per_warp; size <= limits.max_threads_per_block;
       size += limits.threads_per_warp) {
    if (size != 160) sizes.push_back(size);
  }
  return sizes;
}

Suite suite_of(int block_threads) {
  return block_threads == 32 || block_threads == 64 || block_threads == 768 || block_threads == 1024
             ? Suite::smoke
             : Suite::quick;
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const int block_threads : block_sizes(on.limits())) {
    Launch launch{.block_threads = block_threads};
    launch.grid_blocks = on.grid(kSpin, "plain", launch, kWaves);
    cases.push_back(
        {.kernel = &kSpin,
         .variant = "plain",
         .launch = launch,
         .work = Work::equal(kCycles),
         .suite = suite_of(block_threads),
         .parameters = {{"block_threads", std::to_string(block_threads)}},
         .expected_cause = on.cause_of_limit(kSpin, "plain", launch, "block_size_limit", "none")});
  }
  // The binary has no machine code of this variant: the driver compiles its PTX for the present GPU.
  Case ptx_only{
      .kernel = &kSpin, .variant = "ptx_only", .launch = {.block_threads = 256}, .suite = Suite::smoke};
  ptx_only.launch.grid_blocks = on.grid(kSpin, ptx_only.variant, ptx_only.launch, kWaves);
  ptx_only.work = Work::equal(kCycles);
  ptx_only.parameters = {{"block_threads", "256"}};
  cases.push_back(ptx_only);
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "block_size",
    "the block size decides how many warps an SM can hold: 32 threads give 50 %, 64 "
    "and 1024 give 100 %, 768 give 75 %",
    "resource-partitioning note; CUDA C++ Programming Guide, compute capabilities", cases};

}  // namespace occbench::bench_block_size
