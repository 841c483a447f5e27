#include "predict/inferred_work.hpp"

#include <gtest/gtest.h>

#include "simulate/simulate.hpp"

namespace occbench {
namespace {

const Usage kUsage{.registers_per_thread = 32};

Launch launch(std::int64_t grid_blocks) {
  return {.block_threads = 256, .grid_blocks = grid_blocks};
}

/// What a launch of equal blocks takes, with another seed than the one that infers.
Simulation simulated(std::int64_t grid_blocks, double cycles) {
  const Tasks tasks(Work::equal(cycles), grid_blocks, 8);
  return simulate(launch(grid_blocks), kUsage, limits_of({9, 0}), find_profile("h200").model, tasks, 5);
}

std::optional<InferredWork> inferred(std::int64_t grid_blocks, const ObservedLaunch& observed) {
  return infer_work(launch(grid_blocks), kUsage, limits_of({9, 0}), find_profile("h200"), observed);
}

// Whole and partial waves (a wave is 1,056 blocks), and grids that are simulated in part.
class EqualWorkOfEveryGrid : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Grids, EqualWorkOfEveryGrid,
                         testing::Values(1, 132, 1056, 1057, 1500, 5280, 20000, 150000));

TEST_P(EqualWorkOfEveryGrid, IsFoundFromTheTime) {
  const auto found = inferred(GetParam(), {.elapsed_cycles = simulated(GetParam(), 30000).cycles_active_max});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "time");
  EXPECT_NEAR(found->work.cycles, 30000, GetParam() > 16384 ? 1200 : 300);
}

TEST_P(EqualWorkOfEveryGrid, IsFoundFromTheMeanOfTheActiveCycles) {
  const auto found =
      inferred(GetParam(), {.cycles_active_mean = simulated(GetParam(), 30000).cycles_active_mean});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "cycles");
  // A grid with a tail has as many SMs in it as chance will have.
  EXPECT_NEAR(found->work.cycles, 30000, GetParam() == 1500 ? 3000 : 600);
}

TEST(InferredWork, TakesTheTimeWhereBothAreKnown) {
  const auto found = inferred(132, {.elapsed_cycles = 20000, .cycles_active_mean = 10000});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, "time");
  EXPECT_NEAR(found->work.cycles, 20000, 600);
}

TEST(InferredWork, IsNotThereWhereNothingIsKnown) {
  EXPECT_FALSE(inferred(132, {}));
}

TEST(InferredWork, OfTheLargestGridTakesItsTime) {
  const auto found = inferred(2147483647, {.elapsed_cycles = 1e12});
  ASSERT_TRUE(found);
  // Blocks of 200 cycles are launched as fast as the device can, 1,056 at once.
  EXPECT_NEAR(found->work.cycles, 1e12 / (2147483647.0 / 1056), 0.1 * 1e12 / (2147483647.0 / 1056));
}

}  // namespace
}  // namespace occbench
