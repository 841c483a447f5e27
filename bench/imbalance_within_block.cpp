#include <string>

#include "harness/experiment.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_imbalance_within_block {
namespace {

constexpr double kWaves = 4;
/// For a warp that is not slow: the slowest, 64 times longer, makes a wave of 1.3 million cycles.
constexpr double kCycles = 20'000;

/// Random differences between warps make blocks differ, too.
std::string cause_of(const std::string& shape) {
  if (shape == "slow_1") return "overhead";
  return shape.starts_with("slow_") ? "uneven_warps" : "uneven_warps+uneven_blocks";
}

Case make_case(const Planner& on, int warps, const Work& work, const std::string& shape, Suite suite) {
  Launch launch{.block_threads = warps * on.limits().threads_per_warp};
  launch.grid_blocks = on.grid(kSpin, "plain", launch, kWaves);
  return {.kernel = &kSpin,
          .variant = "plain",
          .launch = launch,
          .work = work,
          .suite = suite,
          .parameters = {{"warps_per_block", std::to_string(warps)}, {"shape", shape}},
          .expected_cause = cause_of(shape)};
}

Work per_warp(const Distribution& distribution) {
  return {.cycles = kCycles, .distribution = distribution, .per_warp = true};
}

Suite suite_of_slow_warp(int warps, int factor) {
  if (warps == 8 && factor == 16) return Suite::smoke;
  const bool quick = (warps == 8 && factor != 2 && factor != 64) || (warps == 32 && factor == 16);
  return quick ? Suite::quick : Suite::full;
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const int warps : {2, 4, 8, 16, 32}) {
    for (const int factor : {1, 2, 4, 16, 64}) {
      cases.push_back(make_case(on, warps, per_warp({WorkForm::every, {1.0 * warps, 1.0 * factor}}),
                                "slow_" + std::to_string(factor), suite_of_slow_warp(warps, factor)));
    }
    const Suite suite = warps == 8 ? Suite::quick : Suite::full;
    for (const std::uint64_t seed : {1, 2}) {
      const std::string number = std::to_string(seed);
      const Suite of_seed = seed == 1 ? suite : Suite::full;
      cases.push_back(make_case(on, warps, per_warp({WorkForm::uniform, {0.5, 1.5}, seed}),
                                "uniform_" + number, of_seed));
      cases.push_back(make_case(on, warps, per_warp({WorkForm::lognormal, {0.75}, seed}),
                                "lognormal_" + number, of_seed));
      cases.push_back(
          make_case(on, warps, per_warp({WorkForm::bimodal, {0.1, 8}, seed}), "bimodal_" + number, of_seed));
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "imbalance_within_block",
    "warps that end early leave their block's place half empty: achieved occupancy "
    "is below theoretical by as much as the "
    "slowest warp outlasts the others",
    "achieved-occupancy translation, unbalanced workload within blocks; Nsight "
    "documentation, achieved occupancy",
    cases};

}  // namespace occbench::bench_imbalance_within_block
