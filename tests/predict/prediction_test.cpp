#include "predict/prediction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "predict/advice.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

Prediction predict_on_h200(int block_threads, std::int64_t grid_blocks, std::string_view work,
                           const Chance& chance = {}) {
  return predict({.block_threads = block_threads, .grid_blocks = grid_blocks}, {.registers_per_thread = 20},
                 limits_of({9, 0}), chosen(find_profile("h200")),
                 Tasks(parse_work(work), grid_blocks, (block_threads + 31) / 32), chance);
}

Simulations simulate_on_h200(int block_threads, std::int64_t grid_blocks, const std::string& work,
                             const Chance& chance = {}) {
  return simulate_often({.block_threads = block_threads, .grid_blocks = grid_blocks},
                        {.registers_per_thread = 20}, limits_of({9, 0}), find_profile("h200"),
                        Tasks(parse_work(work), grid_blocks, (block_threads + 31) / 32), chance);
}

TEST(Prediction, LossesAddUpToTheoreticalLessPredicted) {
  for (const char* work : {"equal:20000", "uniform:20000:0.5:1.5:seed=3", "warp/uniform:20000:0.5:1.5:seed=3",
                           "equal:2000", "equal:80000:issue=20000", "warp/every:20000:8:4:bytes=20000"}) {
    for (const std::int64_t grid : {300, 1056, 1700}) {
      const Prediction prediction = predict_on_h200(256, grid, work);
      EXPECT_NEAR(prediction.losses.total(), prediction.theoretical_pct - prediction.predicted_pct, 1e-9)
          << work << " " << grid;
      EXPECT_TRUE(prediction.interval.contains(prediction.predicted_pct)) << work << " " << grid;
      EXPECT_TRUE(prediction.elapsed_interval.contains(prediction.predicted_elapsed_pct))
          << work << " " << grid;
    }
  }
}

TEST(Prediction, EachLossHasItsOwnCause) {
  const Losses small_grid = predict_on_h200(256, 528, "equal:200000").losses;
  EXPECT_NEAR(small_grid.small_grid, 50, 0.01);
  EXPECT_NEAR(small_grid.total(), small_grid.small_grid, 0.5);

  // Where all GPCs have one clock, the last blocks spread evenly.
  ChosenProfile even = chosen(find_profile("h200"));
  even.profile.model.parameters.gpc_clock_spread_ppm = 0;
  const Losses tail = predict({.block_threads = 256, .grid_blocks = 1584}, {.registers_per_thread = 20},
                              limits_of({9, 0}), even, Tasks(parse_work("equal:200000"), 1584, 8))
                          .losses;
  EXPECT_NEAR(tail.tail, 25, 5);
  EXPECT_NEAR(tail.total(), tail.tail, 0.5);

  // One wave of blocks from half to three halves of the mean: the mean over the expected longest of eight.
  const Losses between = predict_on_h200(256, 1056, "uniform:200000:0.5:1.5:seed=3").losses;
  EXPECT_NEAR(between.between_blocks, 100 * (1 - 1 / (0.5 + 8.0 / 9)), 2);
  EXPECT_NEAR(between.total(), between.between_blocks, 0.5);

  // One warp in eight is four times longer: (7 + 4) / 8 of the longest.
  const Losses within = predict_on_h200(256, 1056, "warp/every:200000:8:4").losses;
  EXPECT_NEAR(within.within_block, 100 * (1 - 11.0 / 32), 0.1);

  const Losses overhead = predict_on_h200(256, 1056 * 16, "equal:2000").losses;
  EXPECT_GT(overhead.overhead, 5);
  EXPECT_NEAR(overhead.total(), overhead.overhead, 0.5);

  const Losses contention = predict_on_h200(256, 1056, "equal:800000:issue=200000").losses;
  EXPECT_NEAR(contention.contention, 37.5, 0.5);
  EXPECT_NEAR(contention.total(), contention.contention, 0.5);
}

TEST(Prediction, SimulationsOfWarpsWhoseTimeInLockstepIsGivenAgree) {
  const auto simulate_lockstep = [](const std::string& cycles) {
    return simulate_on_h200(128, 2112, "equal:24768:issue=24768" + cycles).achieved;
  };
  EXPECT_GT(simulate_lockstep("").high - simulate_lockstep("").low, 30);
  // 16 warps a sub-partition. The two oldest are served, in a quarter of cases the three oldest. A warp ends half a round, as warps see
  // them, (3 x 2^2 + 3^2) / (3 x 2 + 3) / 2, after the mean of all 16; in lockstep, with all others.
  constexpr double kGreedyOldest = (8 + 7.0 / 6) / 16 * 100;
  EXPECT_NEAR(simulate_lockstep(":lockstep=0").middle, kGreedyOldest, 0.5);
  EXPECT_NEAR(simulate_lockstep(":lockstep=1000000").middle, 100, 1);
  const RunRange half = simulate_lockstep(":lockstep=198144");
  EXPECT_NEAR(half.middle, (kGreedyOldest + 100) / 2, 1);
  EXPECT_LT(half.high - half.low, 0.5);
}

TEST(Prediction, SimulationsOfALaunchWhoseFirstGpcIsKnownBeginWithIt) {
  const DeviceProfile profile = find_profile("h200");
  const RunRange any = simulate_on_h200(256, 792, "uniform:200000:0.5:1.5:seed=3").achieved;
  const double range = any.high - any.low;
  for (int gpc = 0; gpc < 8; ++gpc) {
    const RunRange known =
        simulate_on_h200(256, 792, "uniform:200000:0.5:1.5:seed=3", {.first_gpc = gpc}).achieved;
    EXPECT_LT(known.high - known.low, range / 5) << gpc;
    const Simulation one =
        simulate({.block_threads = 256, .grid_blocks = 792}, {.registers_per_thread = 20}, limits_of({9, 0}),
                 profile.model, Tasks(parse_work("uniform:200000:0.5:1.5:seed=3"), 792, 8),
                 static_cast<std::uint64_t>(gpc));
    EXPECT_NEAR(known.middle, one.achieved_pct, range / 10) << gpc;
  }
}

TEST(Prediction, AGpcThatTheDeviceDoesNotHaveIsRefused) {
  const auto refusal = [](int gpc) {
    try {
      predict_on_h200(256, 792, "equal:200000", {.first_gpc = gpc});
      return std::string("accepted");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal(0), "accepted");
  EXPECT_EQ(refusal(7), "accepted");
  for (const int gpc : {-1, 8}) {
    EXPECT_THAT(refusal(gpc), HasSubstr("first_gpc = " + std::to_string(gpc)));
    EXPECT_THAT(refusal(gpc), HasSubstr("GPCs 0 to 7"));
  }
}

TEST(Seeds, OfADeviceThatTheProfileIsNotOfGoByItsOwnGpcs) {
  const DeviceProfile half = resized(find_profile("h200"), 66);
  const auto gpcs = static_cast<std::uint64_t>(half.model.topology.gpc_count());
  ASSERT_LT(gpcs, 8u);
  const Seeds seeds({.seed = 5, .first_gpc = 2}, half);
  EXPECT_EQ(seeds.of_run(0), 5 * gpcs + 2);
  EXPECT_EQ(seeds.of_run(1), 6 * gpcs + 2);
  EXPECT_THROW(Seeds({.first_gpc = static_cast<int>(gpcs)}, half), InputError);
  EXPECT_EQ(Seeds({.seed = 5}, half).of_run(1), 6u);
}

TEST(Advice, APartialLastWaveIsRoundedAway) {
  const auto advice =
      advise({.block_threads = 256, .grid_blocks = 1162}, {.registers_per_thread = 20}, limits_of({9, 0}),
             find_profile("h200"), Work::equal(200'000), predict_on_h200(256, 1162, "equal:200000"));
  ASSERT_TRUE(advice);
  // The same warps' cycles in whole waves: 1,162 blocks of two waves' time become one wave's and a tenth.
  EXPECT_NEAR(advice->time_saved_pct, 100 * (1 - 1162.0 / 1056 / 2), 1);
  EXPECT_NEAR(advice->predicted_pct, 99.8, 0.5);
  EXPECT_NEAR(advice->gain_points,
              advice->predicted_pct - predict_on_h200(256, 1162, "equal:200000").predicted_pct, 1e-9);
  EXPECT_THAT(advice->sentence, HasSubstr("less time for the same work."));
}

TEST(Advice, AWholeWaveOfEqualBlocksNeedsNone) {
  EXPECT_FALSE(advise({.block_threads = 256, .grid_blocks = 1056}, {.registers_per_thread = 20},
                      limits_of({9, 0}), find_profile("h200"), Work::equal(200'000),
                      predict_on_h200(256, 1056, "equal:200000")));
}

}  // namespace
}  // namespace occbench
