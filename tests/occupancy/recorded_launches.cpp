// 10,000 launches as cuda_occupancy.h answers them, as CSV: tests/data/theory/launches.csv, which tests without a CUDA
// toolkit compare with.
#include <cstdio>
#include <iterator>
#include <random>
#include <vector>

#include "toolkit_oracle.hpp"

namespace {

using namespace occbench;

std::string cell(int blocks) {
  return blocks == INT_MAX ? "" : std::to_string(blocks);
}

void answer(const Limits& limits, const Launch& launch, const Usage& usage) {
  const cudaOccDeviceProp device = oracle_device(limits);
  const cudaOccFuncAttributes kernel = oracle_kernel(usage);
  const cudaOccDeviceState state = oracle_state(limits, launch);
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, launch.block_threads,
                                              static_cast<std::size_t>(launch.dynamic_shared_bytes)) !=
      CUDA_OCC_SUCCESS)
    return;
  std::printf("%s,%d,%d,%lld,%lld,%s,%d,%d,%s,%s,%s,%s,%s,%d,%zu\n",
              to_string(limits.compute_capability).c_str(), launch.block_threads, usage.registers_per_thread,
              static_cast<long long>(usage.static_shared_bytes),
              static_cast<long long>(launch.dynamic_shared_bytes),
              launch.carveout_pct ? std::to_string(*launch.carveout_pct).c_str() : "", usage.barriers,
              result.activeBlocksPerMultiprocessor, cell(result.blockLimitWarps).c_str(),
              cell(result.blockLimitBlocks).c_str(), cell(result.blockLimitRegs).c_str(),
              cell(result.blockLimitSharedMem).c_str(), cell(result.blockLimitBarriers).c_str(),
              result.allocatedRegistersPerBlock, result.allocatedSharedMemPerBlock);
}

}  // namespace

int main() {
  std::vector<Limits> known;
  for (const Limits& limits : all_limits()) {
    if (limits.compute_capability.major >= 5) known.push_back(limits);
  }
  std::mt19937 random(49);  // the same everywhere
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::puts(
      "compute_capability,block_threads,registers_per_thread,static_shared_bytes,dynamic_shared_bytes,"
      "carveout_pct,"
      "barriers,blocks_per_sm,block_limit_warps,block_limit_blocks,block_limit_registers,block_limit_shared_"
      "memory,"
      "block_limit_barriers,registers_per_block,shared_bytes_per_block");
  for (int launch = 0; launch < 10'000; ++launch) {
    const Limits& limits = known[static_cast<std::size_t>(below(static_cast<int>(std::size(known))))];
    Launch asked{.block_threads = 1 + below(limits.max_threads_per_block),
                 .dynamic_shared_bytes = below(2) == 0 ? 0 : below(limits.max_shared_bytes_per_block)};
    if (below(4) == 0) asked.carveout_pct = limits.compute_capability.major >= 7 ? below(101) : 50 * below(3);
    const Usage usage{
        .registers_per_thread = 1 + below(below(4) == 0 ? limits.max_registers_per_thread : 64),
        .static_shared_bytes = below(2) == 0 ? 0 : below(limits.max_shared_bytes_per_block_default),
        .barriers = limits.max_barriers_per_sm > 0 ? below(17) : 0};
    answer(limits, asked, usage);
  }
}
