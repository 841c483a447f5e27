#include "predict/inferred_work.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/simulate.hpp"

namespace occbench {
namespace {

using testing::Ge;
using testing::Le;

const Usage kUsage{.registers_per_thread = 32};

const Limits& limits() {
  return limits_of({9, 0});
}

DeviceProfile profile() {
  return find_profile("h200");
}

Launch launch(std::int64_t grid_blocks) {
  return {.block_threads = 256, .grid_blocks = grid_blocks};
}

Simulation simulated(std::int64_t grid_blocks, std::string_view work, std::uint64_t seed = 5) {
  const Tasks tasks(parse_work(work), grid_blocks, 8);
  return simulate(launch(grid_blocks), kUsage, limits(), profile().model, tasks, seed);
}

/// What counters would read of a launch that runs as simulated.
ObservedLaunch observed(const Simulation& simulation) {
  return {.cycles_active_min = simulation.cycles_active_min,
          .cycles_active_mean = simulation.cycles_active_mean,
          .cycles_active_max = simulation.cycles_active_max};
}

InferredWork inferred(std::int64_t grid_blocks, const ObservedLaunch& seen) {
  return infer_work(launch(grid_blocks), kUsage, limits(), profile(), seen).value();
}

double predicted_pct(std::int64_t grid_blocks, const ObservedLaunch& seen) {
  return predict_observed(launch(grid_blocks), kUsage, limits(), profile(), seen)->prediction.predicted_pct;
}

// Whole and partial waves (a wave is 1,056 blocks), and grids that are simulated in part.
class EqualWorkOfEveryGrid : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Grids, EqualWorkOfEveryGrid,
                         testing::Values(1, 132, 1056, 1057, 1500, 5280, 20000, 150000));

TEST_P(EqualWorkOfEveryGrid, IsFoundFromTheMeanOfTheActiveCycles) {
  const Simulation run = simulated(GetParam(), "equal:30000");
  const InferredWork found = inferred(GetParam(), {.cycles_active_mean = run.cycles_active_mean});
  EXPECT_EQ(found.source, "cycles");
  // A grid with a tail has as many SMs in it as chance will have.
  EXPECT_NEAR(found.work.cycles, 30000, GetParam() == 1500 ? 3000 : 600);
}

TEST_P(EqualWorkOfEveryGrid, IsFoundFromTheTime) {
  const Simulation run = simulated(GetParam(), "equal:30000");
  const InferredWork found = inferred(GetParam(), {.elapsed_cycles = run.cycles_active_max});
  EXPECT_EQ(found.source, "time");
  EXPECT_NEAR(found.work.cycles, 30000, GetParam() > 16384 ? 1200 : 300);
}

TEST_P(EqualWorkOfEveryGrid, IsSeenAsSuchWithTheSpreadOfTheSms) {
  const InferredWork found = inferred(GetParam(), observed(simulated(GetParam(), "equal:30000")));
  EXPECT_EQ(found.source, "cycles");
  EXPECT_TRUE(std::holds_alternative<EqualWork>(found.work.distribution)) << to_string(found.work);
}

TEST(InferredWork, OfATailIsPredictedAsChancePlacedIt) {
  for (const std::uint64_t seed : {2u, 3u, 11u, 30u}) {
    const Simulation run = simulated(1320, "equal:200000", seed);
    EXPECT_NEAR(predicted_pct(1320, observed(run)), run.achieved_pct, 0.3) << seed;
  }
}

TEST(InferredWork, IsAsWideAsTheSpreadOfTheSmsTakes) {
  for (const auto& [text, width] :
       {std::pair{"lognormal:30000:0.25:seed=9", 0.25}, {"lognormal:30000:0.75:seed=9", 0.75}}) {
    const Simulation run = simulated(3 * 1056, text);
    const InferredWork found = inferred(3 * 1056, observed(run));
    EXPECT_EQ(found.source, "cycles and spread");
    EXPECT_NEAR(std::get<LognormalWork>(found.work.distribution).sigma, width, 0.4 * width) << text;
    EXPECT_NEAR(predicted_pct(3 * 1056, observed(run)), run.achieved_pct, 6) << text;
  }
}

TEST(InferredWork, OfUnevenBlocksIsPredictedByTheBlocksThatWereResident) {
  const Simulation run = simulated(2 * 1056, "bimodal:30000:0.1:8:seed=3");
  ObservedLaunch seen{.cycles_active_mean = run.cycles_active_mean};
  seen.resident_blocks = run.resident_blocks;
  const auto found = predict_observed(launch(2 * 1056), kUsage, limits(), profile(), seen);
  EXPECT_EQ(found->inferred.source, "cycles and resident blocks");
  EXPECT_NEAR(found->prediction.predicted_pct, run.achieved_pct, 0.5);
  EXPECT_EQ(found->prediction.resident_blocks, run.resident_blocks);
}

TEST(InferredWork, OfOneBlockPerSmFillsNoMoreThanThatBlock) {
  // Some blocks end at once: the mean over SMs falls, and no warp more was resident.
  const Simulation run = simulated(128, "bimodal:3000:0.6:4:seed=3");
  ASSERT_LT(run.cycles_active_mean, 0.8 * run.cycles_active_max);
  EXPECT_NEAR(run.achieved_pct, 12.5, 0.5);
  EXPECT_NEAR(predicted_pct(128, observed(run)), 12.5, 0.7);
}

TEST(InferredWork, LossesAddUpToTheoryLessThePrediction) {
  for (const std::int64_t grid : {700, 1320, 4000}) {
    const auto found = predict_observed(launch(grid), kUsage, limits(), profile(),
                                        observed(simulated(grid, "uniform:20000:0.5:1.5:seed=4")));
    EXPECT_NEAR(found->prediction.losses.total(),
                found->prediction.theoretical_pct - found->prediction.predicted_pct, 1e-9);
    const auto with_blocks = predict_observed(launch(grid), kUsage, limits(), profile(),
                                              {.cycles_active_mean = 40'000, .resident_blocks = 2.5})
                                 ->prediction;
    EXPECT_NEAR(with_blocks.losses.total(), with_blocks.theoretical_pct - with_blocks.predicted_pct, 1e-9);
  }
}

TEST(InferredWork, OfALaunchShorterThanItsOwnOverheadIsTheLeastThereIs) {
  EXPECT_EQ(inferred(132, {.cycles_active_mean = 50}).work, Work::equal(1));
  EXPECT_EQ(inferred(132, {.elapsed_cycles = 1}).work, Work::equal(1));
}

TEST(InferredWork, NeedsCyclesOrTime) {
  EXPECT_FALSE(infer_work(launch(132), kUsage, limits(), profile(), {}));
  EXPECT_FALSE(predict_observed(launch(132), kUsage, limits(), profile(), {.resident_blocks = 3}));
}

TEST(InferredWork, OfTheLargestGridTakesNoLonger) {
  const ObservedLaunch seen{.cycles_active_mean = 3e11};
  const auto found = predict_observed(launch(2147483647), kUsage, limits(), profile(), seen);
  // 2,033,602 waves.
  EXPECT_NEAR(found->inferred.work.cycles, 3e11 / 2033602, 1500);
  EXPECT_DOUBLE_EQ(found->prediction.cycles_active_mean, 3e11);
  EXPECT_THAT(found->prediction.predicted_pct, testing::AllOf(Ge(97.0), Le(100.0)));
}

TEST(InferredWork, IsTheSameEveryTime) {
  const ObservedLaunch seen = observed(simulated(3000, "lognormal:30000:0.5:seed=2"));
  EXPECT_EQ(inferred(3000, seen).work, inferred(3000, seen).work);
}

}  // namespace
}  // namespace occbench
