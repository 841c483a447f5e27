#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/reads.hpp"
#include "kernels/spin.hpp"
#include "simulate/draws.hpp"

namespace occbench::bench_validation {
namespace {

/// Random numbers of one launch, one after another.
class Draws {
 public:
  explicit Draws(std::uint64_t stream) : stream_(stream) {}

  double between(double low, double high) {
    return low + (high - low) * unit_interval(random_bits(stream_, next_++));
  }
  /// Log-uniform.
  double between_in_ratio(double low, double high) {
    return portable_exp(between(portable_log(low), portable_log(high)));
  }
  int whole(int first, int last) {
    return std::min(last, first + static_cast<int>(between(0, last - first + 1)));
  }
  bool one_of(int n) {
    return whole(1, n) == 1;
  }
  template <std::size_t kCount>
  int of(const int (&values)[kCount]) {
    return values[whole(0, static_cast<int>(kCount) - 1)];
  }

 private:
  std::uint64_t stream_;
  std::uint64_t next_ = 0;
};

/// Another number draws other launches. Nothing was or will be tuned on the launches of this one.
constexpr std::uint64_t kSeries = 6;
constexpr int kSmokeLaunches = 3;
constexpr int kLaunchesPerQuickOne = 5;

Distribution draw_uneven(Draws& draws) {
  const auto seed = static_cast<std::uint64_t>(draws.whole(1, 1'000'000));
  switch (draws.whole(1, 4)) {
    case 1:
      return {WorkForm::uniform, {0.5, 1.5}, seed};
    case 2:
      return {WorkForm::exponential, {8}, seed};
    case 3:
      return {WorkForm::linear, {0.2, 1.8}};
    default:
      return {WorkForm::bimodal, {0.125, 4}, seed};
  }
}

/// For half of the launches any number of whole warps, for the others a common size.
int draw_block_threads(Draws& draws, const Limits& limits) {
  constexpr int kUsual[] = {64, 128, 256, 512, 768, 1024};
  if (draws.one_of(2)) return draws.of(kUsual);
  return limits.threads_per_warp * draws.whole(1, limits.max_threads_per_block / limits.threads_per_warp);
}

/// Shared memory limits the blocks per SM of half of the launches; a quarter have whole waves.
Launch draw_launch(const Planner& on, const Kernel& kernel, std::string_view variant, int block_threads,
                   double least_waves, double most_waves, Draws& draws) {
  Launch launch{.block_threads = block_threads};
  if (draws.one_of(2)) {
    const int blocks = draws.whole(1, on.occupancy(kernel, variant, launch).blocks_per_sm);
    launch.dynamic_shared_bytes = on.shared_bytes_for(kernel, variant, launch, blocks).value_or(0);
  }
  const double waves = draws.between_in_ratio(least_waves, most_waves);
  launch.grid_blocks = on.grid(kernel, variant, launch, draws.one_of(4) ? std::ceil(waves) : waves);
  return launch;
}

/// Warps that only stay resident, without contention. With work per block, about half of the launches are
/// equal.
template <int kLeastCycles, int kMostCycles, bool kPerWarp>
Case draw_spin(const Planner& on, Draws& draws) {
  const int block_threads = draw_block_threads(draws, on.limits());
  const Launch launch = draw_launch(on, kSpin, "plain", block_threads, 0.3, 8, draws);
  Work work = Work::equal(std::round(draws.between_in_ratio(kLeastCycles, kMostCycles)));
  if (kPerWarp || draws.one_of(2)) work.distribution = draw_uneven(draws);
  work.per_warp = kPerWarp;
  return {.kernel = &kSpin, .variant = "plain", .launch = launch, .work = work};
}

// Launches that contend: one to twenty waves, with few warps on an SM or as many as it holds.
constexpr double kMostWaves = 20;

Case draw_chains(const Planner& on, ChainBody body, int chains, Draws& draws) {
  const std::string_view variant = fma_chains_variant(body, chains);
  const int block_threads = draw_block_threads(draws, on.limits());
  const Launch launch = draw_launch(on, kFmaChains, variant, block_threads, 1, kMostWaves, draws);
  const int warps = on.occupancy(kFmaChains, variant, launch).warps_per_sm() / on.limits().sub_partitions;
  const double wave_cycles = draws.between_in_ratio(100'000, 400'000);
  return {.kernel = &kFmaChains,
          .variant = variant,
          .launch = launch,
          .work = fma_chains_work(on.limits(), body, chains, std::max(1, warps), wave_cycles)};
}

Case draw_issue_bound(const Planner& on, Draws& draws) {
  constexpr int kWaiting[] = {1, 2};
  if (draws.one_of(2)) return draw_chains(on, ChainBody::fma, draws.of(kWaiting), draws);
  return draw_chains(on, ChainBody::exponential, draws.of(kChainCounts), draws);
}

Case draw_always_issuing(const Planner& on, Draws& draws) {
  constexpr int kAlways[] = {4, 8};
  return draw_chains(on, ChainBody::fma, draws.of(kAlways), draws);
}

Case draw_memory_bound(const Planner& on, Draws& draws) {
  constexpr int kMostL2Times = 64;
  const int bytes = draws.of(kReadBytes);
  const int in_flight = draws.of(kReadsInFlight);
  const std::string_view variant = reads_variant(bytes, in_flight);
  const int block_threads =
      on.limits().threads_per_warp * draws.whole(1, kReadsBlockThreads / on.limits().threads_per_warp);
  const Launch launch = draw_launch(on, kReads, variant, block_threads, 1, kMostWaves, draws);
  const auto waits = std::min(static_cast<std::int64_t>(draws.between_in_ratio(10, 200)),
                              most_waits(on.device(), launch, bytes, in_flight, kMostL2Times));
  return {
      .kernel = &kReads, .variant = variant, .launch = launch, .work = reads_work(bytes, in_flight, waits)};
}

/// Kinds of launches to draw: predictions of each kind have their own error.
struct Kind {
  std::string_view name;
  int launches;
  Case (*draw)(const Planner& on, Draws& draws);
};
constexpr Kind kKinds[] = {
    {"blocks_from_20000_cycles", 240, draw_spin<20'000, 400'000, false>},
    {"warps_from_20000_cycles", 120, draw_spin<20'000, 400'000, true>},
    {"blocks_of_8000_cycles", 120, draw_spin<8'000, 8'000, false>},
    {"blocks_of_1000_to_8000_cycles", 120, draw_spin<1'000, 8'000, false>},
    {"issue_bound", 80, draw_issue_bound},
    {"always_issuing", 80, draw_always_issuing},
    {"memory_bound", 80, draw_memory_bound},
};

Case draw_case(const Planner& on, const Kind& kind, int number) {
  const auto place = static_cast<std::uint64_t>(1'000 * (&kind - kKinds) + number);
  Draws draws(1'000'000 * kSeries + place);
  Case drawn = kind.draw(on, draws);
  drawn.suite = number <= kSmokeLaunches             ? Suite::smoke
                : number % kLaunchesPerQuickOne == 0 ? Suite::quick
                                                     : Suite::full;
  drawn.parameters = {{"kind", std::string(kind.name)}, {"number", std::to_string(number)}};
  return drawn;
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const Kind& kind : kKinds) {
    for (int number = 1; number <= kind.launches; ++number) cases.push_back(draw_case(on, kind, number));
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{"validation",
                                   "the counter of random launches is predicted within the errors stated",
                                   "docs/prediction.md", cases};

}  // namespace occbench::bench_validation
