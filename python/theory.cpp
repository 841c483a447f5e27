#include "theory.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

char* handed_over(const std::string& text) {
  return ::strdup(text.c_str());
}

int as_int(std::int64_t value, const char* name) {
  constexpr int kMost = std::numeric_limits<int>::max();
  if (value >= std::numeric_limits<int>::min() && value <= kMost) return static_cast<int>(value);
  throw InputError(fmt::format("{} = {} is out of range: at most {}", name, value, kMost));
}

/// One launch of the arrays, whose rows are `count` apart.
void answer_launch(std::int64_t count, const std::int64_t* asked, std::int64_t* answered,
                   double* theoretical_pct) {
  const auto value = [&](OccbenchAsked row, const char* name) { return as_int(asked[row * count], name); };
  const int capability = value(kOccbenchComputeCapability, "compute_capability");
  const Limits& limits = limits_of({capability / 10, capability % 10});
  Launch launch{.block_threads = value(kOccbenchBlockThreads, "block_threads"),
                .cluster_blocks = value(kOccbenchClusterBlocks, "cluster_blocks"),
                .dynamic_shared_bytes = asked[kOccbenchDynamicSharedBytes * count]};
  const int carveout = value(kOccbenchCarveoutPct, "carveout_pct");
  if (carveout != -1) launch.carveout_pct = carveout;
  const Usage usage{.registers_per_thread = value(kOccbenchRegistersPerThread, "registers_per_thread"),
                    .static_shared_bytes = asked[kOccbenchStaticSharedBytes * count],
                    .barriers = value(kOccbenchBarriers, "barriers")};
  check_static_shared(limits, usage);
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const auto answer = [&](int row, std::int64_t is) { answered[row * count] = is; };
  answer(kOccbenchBlocksPerSm, occupancy.blocks_per_sm);
  answer(kOccbenchWarpsPerSm, occupancy.warps_per_sm());
  std::int64_t limiters = 0;
  for (const Limiter limiter : kAllLimiters) {
    const int place = static_cast<int>(limiter);
    const int blocks = occupancy.block_limits.of(limiter);
    if (occupancy.limiters.contains(limiter)) limiters |= std::int64_t{1} << place;
    answer(kOccbenchBlockLimits + place, blocks == kUnlimited ? -1 : blocks);
  }
  answer(kOccbenchLimiters, limiters);
  answer(kOccbenchRegistersPerBlock, occupancy.registers_per_block);
  answer(kOccbenchSharedBytesPerBlock, occupancy.shared_bytes_per_block);
  answer(kOccbenchSharedBytesPerSm, occupancy.shared_bytes_per_sm);
  *theoretical_pct = occupancy.theoretical_pct;
}

}  // namespace
}  // namespace occbench

void occbench_free(char* text) {
  std::free(text);
}

char* occbench_gpus() {
  std::string lines;
  for (const occbench::Gpu& gpu : occbench::all_gpus()) {
    lines += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", gpu.name, gpu.driver_name,
                         to_string(gpu.compute_capability), gpu.sm_count, gpu.clock_mhz, gpu.bandwidth_gb_s,
                         gpu.memory_bus_bits, gpu.l2_kb);
  }
  return occbench::handed_over(lines);
}

char* occbench_theory(std::int64_t count, const std::int64_t* asked, std::int64_t* answered,
                      double* theoretical_pct) {
  for (std::int64_t launch = 0; launch < count; ++launch) {
    try {
      occbench::answer_launch(count, asked + launch, answered + launch, theoretical_pct + launch);
    } catch (const std::exception& error) {
      return occbench::handed_over(fmt::format("launch {}: {}", launch, error.what()));
    }
  }
  return nullptr;
}
