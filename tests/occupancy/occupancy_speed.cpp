// theoretical_occupancy beside the toolkit's cudaOccMaxActiveBlocksPerMultiprocessor on the same random
// configurations of compute capability 9.0. Run by hand: build/release/tests/occupancy_speed
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "toolkit_oracle.hpp"

namespace occbench {
namespace {

constexpr std::size_t kConfigurations =
    8192;  // more than a branch predictor learns, less than the cache holds

std::vector<Configuration> random_configurations(bool with_carveout) {
  std::mt19937 random(1);
  std::vector<Configuration> configurations(kConfigurations);
  for (auto& [launch, usage] : configurations) {
    launch.block_threads = 1 + static_cast<int>(random() % 1024u);
    launch.dynamic_shared_bytes = static_cast<int>(random() % 60'000u);
    if (with_carveout) launch.carveout_pct = static_cast<int>(random() % 101u);
    usage.registers_per_thread = static_cast<int>(random() % 256u);
    usage.static_shared_bytes = static_cast<int>(random() % 10'000u);
    usage.barriers = static_cast<int>(random() % 17u);
  }
  return configurations;
}

void ours(benchmark::State& state) {
  const Limits& limits = limits_of({9, 0});
  const std::vector<Configuration> configurations = random_configurations(state.range(0) == 1);
  std::size_t next = 0;
  for (auto iteration : state) {
    const Configuration* asked = &configurations[next++ % kConfigurations];
    benchmark::DoNotOptimize(asked);
    Occupancy occupancy = theoretical_occupancy(limits, asked->launch, asked->usage);
    benchmark::DoNotOptimize(occupancy);
    benchmark::ClobberMemory();
  }
}

void toolkit(benchmark::State& state) {
  struct Asked {
    cudaOccFuncAttributes kernel;
    cudaOccDeviceState state;
    int block_threads;
    std::size_t dynamic_shared_bytes;
  };
  const Limits& limits = limits_of({9, 0});
  const cudaOccDeviceProp device = oracle_device(limits);
  std::vector<Asked> all;
  for (const auto& [launch, usage] : random_configurations(state.range(0) == 1)) {
    all.push_back({oracle_kernel(usage), oracle_state(limits, launch), launch.block_threads,
                   static_cast<std::size_t>(launch.dynamic_shared_bytes)});
  }
  std::size_t next = 0;
  for (auto iteration : state) {
    const Asked* asked = &all[next++ % kConfigurations];
    const cudaOccDeviceProp* properties = &device;
    benchmark::DoNotOptimize(asked);
    benchmark::DoNotOptimize(properties);
    cudaOccResult result;
    cudaOccError error =
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, properties, &asked->kernel, &asked->state,
                                                asked->block_threads, asked->dynamic_shared_bytes);
    benchmark::DoNotOptimize(error);
    benchmark::DoNotOptimize(result);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(ours)->ArgName("carveout")->Arg(0)->Arg(1);
BENCHMARK(toolkit)->ArgName("carveout")->Arg(0)->Arg(1);

}  // namespace
}  // namespace occbench

BENCHMARK_MAIN();
