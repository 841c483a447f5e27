#include <fmt/core.h>

#include "harness/experiment.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_waves {
namespace {

constexpr int kBlockThreads = 256;
constexpr double kCycles = 200'000;

Case make_case(const Planner& on, std::int64_t grid_blocks, const std::string& waves, Suite suite) {
  const Launch launch{.block_threads = kBlockThreads, .grid_blocks = grid_blocks};
  return {.kernel = &kSpin,
          .variant = "plain",
          .launch = launch,
          .work = Work::equal(kCycles),
          .suite = suite,
          .parameters = {{"waves", waves}},
          .expected_cause = on.cause_of_grid(kSpin, "plain", launch)};
}

std::vector<Case> cases(const Planner& on) {
  const Launch launch{.block_threads = kBlockThreads};
  std::vector<Case> cases = {make_case(on, 1, "one_block", Suite::smoke)};
  for (const double waves : steps(0.25, 8, 0.25)) {
    const Suite suite = waves == 0.75 || waves == 1 || waves == 1.5 ? Suite::smoke : Suite::quick;
    cases.push_back(
        make_case(on, on.grid(kSpin, "plain", launch, waves), fmt::format("{:.2f}", waves), suite));
  }
  cases.push_back(make_case(on, on.wave(kSpin, "plain", launch) + 1, "1_plus_one_block", Suite::smoke));
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "waves",
    "a partial last wave leaves SMs idle: three quarters of a wave of balanced blocks achieve about 75 %",
    "achieved-occupancy translation; Nsight Compute documentation, tail effect", cases};

}  // namespace occbench::bench_waves
