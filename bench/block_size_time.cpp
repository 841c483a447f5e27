#include <string>

#include "harness/experiment.hpp"
#include "kernels/array_passes.hpp"

namespace occbench::bench_block_size_time {
namespace {

constexpr int kBlockThreads[] = {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
/// Floats read, relative to the capacity of L2.
constexpr std::int64_t kL2Times = 2;

std::vector<Case> cases(const Planner& on) {
  const auto floats = static_cast<std::int64_t>(on.device().l2_bytes / sizeof(float));
  const std::int64_t extent = kL2Times * floats / kStencilWidth * kStencilWidth;
  std::vector<Case> cases;
  for (const Variant& variant : kArrayPasses.variants) {
    for (const int block_threads : kBlockThreads) {
      const Launch launch{.block_threads = block_threads,
                          .grid_blocks = (extent + block_threads - 1) / block_threads};
      cases.push_back({.kernel = &kArrayPasses,
                       .variant = variant.name,
                       .launch = launch,
                       .extent = extent,
                       .suite = block_threads == 32 || block_threads == 256 ? Suite::quick : Suite::full,
                       .parameters = {{"block_threads", std::to_string(block_threads)}},
                       .expected_cause = on.cause_of_limit(kArrayPasses, variant.name, launch,
                                                           "block_size_limit+overhead+memory_contention",
                                                           "overhead+memory_contention")});
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "block_size_time",
    "128 to 512 threads a block are the ones to try: none of them is slow, and smaller and larger blocks are",
    "occupancy note on Ada, maximum thread block size; CUDA C++ Best Practices Guide, thread and block "
    "heuristics",
    cases};

}  // namespace occbench::bench_block_size_time
