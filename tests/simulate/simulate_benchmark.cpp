// How fast the simulator is: items = blocks. Linear in blocks; equal blocks repeat and cost nothing beyond
// some.
#include <benchmark/benchmark.h>

#include "predict/device_profile.hpp"
#include "predict/work.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

void simulate_blocks(benchmark::State& state, const char* work) {
  const std::int64_t grid = state.range(0);
  const Launch launch{.block_threads = 256, .grid_blocks = grid};
  const Usage usage{.registers_per_thread = 32};
  const DeviceProfile profile = find_profile("h200");
  const Tasks tasks(parse_work(work), grid, 8);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate(launch, usage, limits_of({9, 0}), profile.model, tasks, 1));
  }
  state.SetItemsProcessed(state.iterations() * grid);
}

BENCHMARK_CAPTURE(simulate_blocks, uneven, "uniform:20000:0.5:1.5:seed=1")
    ->RangeMultiplier(10)
    ->Range(1'000, 10'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_blocks, lognormal, "lognormal:20000:0.5:seed=1")
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_blocks, by_warp, "warp/uniform:20000:0.5:1.5:seed=1")
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_blocks, contending, "uniform:20000:0.5:1.5:seed=1:issue=5000")
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_blocks, equal, "equal:20000")
    ->Arg(1'000'000)
    ->Arg(2'147'483'647)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace occbench

BENCHMARK_MAIN();
