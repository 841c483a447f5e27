#include "predict/prediction.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "predict/advice.hpp"
#include "predict/interval.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;

const ChosenProfile& h200() {
  static const ChosenProfile profile = chosen(find_profile("h200"));
  return profile;
}

Asked launch_of(int block_threads, std::int64_t grid_blocks, const ChosenProfile& on = h200(),
                const Chance& chance = {}, WorkOrigin origin = WorkOrigin::given) {
  return {{.block_threads = block_threads, .grid_blocks = grid_blocks},
          {.registers_per_thread = 20},
          limits_of({9, 0}),
          on,
          chance,
          origin};
}

Prediction predict_on_h200(int block_threads, std::int64_t grid_blocks, std::string_view work,
                           const Chance& chance = {}) {
  return predict(launch_of(block_threads, grid_blocks, h200(), chance),
                 Tasks(parse_work(work), grid_blocks, (block_threads + 31) / 32));
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
  const Losses tail = predict(launch_of(256, 1584, even), Tasks(parse_work("equal:200000"), 1584, 8)).losses;
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

  // Blocks that memory makes 15 times as long lose a fifteenth of what replacing them would cost alone.
  const Losses alone = predict_on_h200(256, 1056 * 32, "equal:3000").losses;
  const Losses memory = predict_on_h200(256, 1056 * 32, "equal:3000:bytes=16384").losses;
  EXPECT_GT(alone.overhead, 5);
  EXPECT_LT(memory.overhead, alone.overhead / 10);
  EXPECT_GT(memory.contention, 3);
}

TEST(Prediction, OverheadOfWarpsThatAlwaysIssueIsOfTheTimeThatBlocksTakeBesideOneAnother) {
  // Sixteen warps of a sub-partition share its issue slots, so that a block takes some 320,000 cycles. Launching and replacing it
  // takes some 500.
  const Losses given = predict_on_h200(96, 5544, "equal:20000:issue=20000:lockstep=126000").losses;
  EXPECT_LT(std::abs(given.overhead), 1);
  EXPECT_GT(given.contention, 20);
  const Losses drawn = predict_on_h200(96, 5544, "equal:20000:issue=20000").losses;
  EXPECT_LT(std::abs(drawn.overhead), 1);
  EXPECT_GT(drawn.contention, 10);
  // Of such short blocks it is a fifteenth.
  const Losses shorter = predict_on_h200(96, 5544, "equal:500:issue=500:lockstep=3150").losses;
  EXPECT_NEAR(shorter.overhead, 7, 4);
}

TEST(Prediction, WithAGpusOwnClocksCoversThemHalfAsFarApart) {
  ChosenProfile own = chosen(find_profile("h200"));
  for (std::size_t i = 0; i < own.profile.model.gpc_clock_ppm.size(); ++i)
    own.profile.model.gpc_clock_ppm[i] = i % 2 == 0 ? 2500 : -2500;
  const auto width = [&](std::int64_t grid, ProfileQuality quality) {
    own.quality = quality;
    const Tasks tasks(parse_work("equal:200000"), grid, 8);
    const RunRange runs = simulate_often(launch_of(256, grid, own), tasks).achieved;
    return runs.high - runs.low;
  };
  double widened = 0;
  for (const std::int64_t grid : {1108, 1162, 1320, 1584, 2640}) {
    const double of_clocks = width(grid, ProfileQuality::calibrated_device);
    const double of_chance = width(grid, ProfileQuality::calibrated_model);
    EXPECT_GE(of_clocks, of_chance) << grid;
    widened = std::max(widened, of_clocks - of_chance);
  }
  EXPECT_GT(widened, 1);
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
    return message_of([&] { predict_on_h200(256, 792, "equal:200000", {.first_gpc = gpc}); });
  };
  EXPECT_EQ(refusal(0), "nothing was thrown");
  EXPECT_EQ(refusal(7), "nothing was thrown");
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
      advise(launch_of(256, 1162), Work::equal(200'000), predict_on_h200(256, 1162, "equal:200000"));
  ASSERT_TRUE(advice);
  // The same warps' cycles in whole waves: 1,162 blocks of two waves' time become one wave's and a tenth.
  EXPECT_NEAR(advice->time_saved_pct, 100 * (1 - 1162.0 / 1056 / 2), 1);
  EXPECT_NEAR(advice->predicted_pct, 99.8, 0.5);
  EXPECT_NEAR(advice->gain_points,
              advice->predicted_pct - predict_on_h200(256, 1162, "equal:200000").predicted_pct, 1e-9);
  // The gain in points is no surer than what it is counted from.
  EXPECT_THAT(advice->sentence,
              HasSubstr("less time for the same work and read " + to_string(advice->interval) + " %"));
  EXPECT_EQ(advice->interval, predict_on_h200(256, 1056, to_string(advice->work)).interval);
  EXPECT_THAT(
      advice->sentence,
      HasSubstr("instead of " + to_string(predict_on_h200(256, 1162, "equal:200000").interval) + " %."));
}

TEST(Advice, AWholeWaveOfEqualBlocksNeedsNone) {
  EXPECT_FALSE(
      advise(launch_of(256, 1056), Work::equal(200'000), predict_on_h200(256, 1056, "equal:200000")));
}

constexpr double kLongBlock = 1e9;  ///< cycles, of which overheads are nothing

/// Of a launch whose SMs are active all the time.
Interval interval_of(const RunRange& runs, const Margin& margin, double block_cycles, double most_pct) {
  return intervals_of({runs, runs}, {margin, margin}, block_cycles, most_pct).achieved;
}

TEST(Interval, GoesFromTheSimulationsByTheMarginsOfItsKind) {
  const Interval interval = interval_of({70, 80, 85}, {.below = 0.05, .above = 0.1}, kLongBlock, 100);
  EXPECT_NEAR(interval.low, 70 - 0.05 * 80, 1e-4);
  EXPECT_NEAR(interval.high, 85 + 0.1 * 80, 1e-4);
}

TEST(Interval, OfShortBlocksIsWiderByTheErrorOfOverheads) {
  // A twentieth of the block.
  const Interval interval = interval_of({60, 60, 60}, {}, 20 * kOverheadErrorCycles, 100);
  EXPECT_NEAR(interval.low, 57, 1e-9);
  EXPECT_NEAR(interval.high, 63, 1e-9);
}

TEST(Interval, IsClippedToWhatALaunchCanReach) {
  const Interval interval = interval_of({2, 74, 74.9}, {.below = 0.5, .above = 0.5}, kLongBlock, 75);
  EXPECT_EQ(interval.low, 0);
  EXPECT_EQ(interval.high, 75);
}

TEST(Interval, IsNeverNarrowerThanReadingsDiffer) {
  const Interval interval = interval_of({50, 50, 50}, {}, kLongBlock, 100);
  EXPECT_NEAR(interval.width(), 2 * kLeastMarginPoints, 1e-9);
}

TEST(Interval, OfElapsedCyclesHasNoEndAboveThatOfAchievedOccupancy) {
  const Margin narrow{.below = 0.01, .above = 0.01};
  const Margin wide{.below = 0.5, .above = 0.5};
  const RunRanges runs{.achieved = {70, 80, 85}, .elapsed = {68, 78, 84}};
  const Intervals of_wide_achieved = intervals_of(runs, {wide, narrow}, kLongBlock, 100);
  EXPECT_NEAR(of_wide_achieved.elapsed.low, 68 - 0.01 * 78, 1e-4);
  EXPECT_EQ(of_wide_achieved.achieved.low, of_wide_achieved.elapsed.low);
  EXPECT_EQ(of_wide_achieved.achieved.high, 100);
  const Intervals of_wide_elapsed = intervals_of(runs, {narrow, wide}, kLongBlock, 100);
  EXPECT_NEAR(of_wide_elapsed.achieved.high, 85 + 0.01 * 80, 1e-4);
  EXPECT_EQ(of_wide_elapsed.elapsed.high, of_wide_elapsed.achieved.high);
  EXPECT_NEAR(of_wide_elapsed.elapsed.low, 68 - 0.5 * 78, 1e-4);
}

TEST(Interval, ReachesWhatTheBlocksOfTheFullestSmGive) {
  Usage usage{.registers_per_thread = 32};
  const auto most = [&](std::int64_t grid, int cluster, std::string_view work) {
    const Launch launch{.block_threads = 256, .grid_blocks = grid, .cluster_blocks = cluster};
    return most_pct(launch, limits_of({9, 0}), theoretical_occupancy(limits_of({9, 0}), launch, usage), 132,
                    Tasks(parse_work(work), grid, 8));
  };
  // Eight blocks of 8 warps fill an SM.
  EXPECT_EQ(most(1, 1, "equal:20000"), 12.5);
  EXPECT_EQ(most(133, 1, "equal:20000"), 25);
  EXPECT_EQ(most(1056, 1, "equal:20000"), 100);
  EXPECT_EQ(most(1056, 1, "warp/uniform:20000:0.5:1.5"), 100);
  EXPECT_EQ(most(132, 2, "equal:20000"), 100) << "where clusters go is not known";
  // 16,384 registers of a sub-partition are those of four warps, or of five of 96.
  usage.registers_per_thread = 128;
  EXPECT_EQ(most(2000, 1, "equal:20000:issue=5000"), 25);
  usage.registers_per_thread = 96;
  EXPECT_EQ(most(2000, 1, "warp/uniform:20000:0.5:1.5"), 31.25);
  EXPECT_EQ(most(2000, 1, "equal:20000"), 25);
}

TEST(WorkKind, IsThatOfLaunchAndWork) {
  const auto kind = [](std::int64_t grid, std::string_view work, WorkOrigin origin = WorkOrigin::given,
                       std::int64_t local_bytes = 0, int cluster = 1) {
    const Launch launch{.block_threads = 256, .grid_blocks = grid, .cluster_blocks = cluster};
    const Usage usage{.registers_per_thread = 32, .local_bytes_per_thread = local_bytes};
    return kind_of(launch, usage, theoretical_occupancy(limits_of({9, 0}), launch, usage), 132,
                   Tasks(parse_work(work), grid, 8), origin);
  };
  EXPECT_EQ(kind(500, "equal:20000"), WorkKind::even_waves);
  EXPECT_EQ(kind(2112, "equal:20000"), WorkKind::even_waves);
  EXPECT_EQ(kind(1057, "equal:20000"), WorkKind::partial_last_wave_short);
  EXPECT_EQ(kind(1057, "equal:200000"), WorkKind::partial_last_wave);
  EXPECT_EQ(kind(999 * 1056 + 1, "equal:20000"), WorkKind::partial_last_wave_short);
  EXPECT_EQ(kind(1000 * 1056 + 1, "equal:20000"), WorkKind::even_waves) << "the last of so many waves";
  EXPECT_EQ(kind(1057, "uniform:20000:0.5:1.5"), WorkKind::uneven_blocks);
  EXPECT_EQ(kind(1057, "warp/uniform:20000:0.5:1.5"), WorkKind::uneven_warps);
  EXPECT_EQ(kind(1057, "bimodal:20000:0.1:8"), WorkKind::uneven_blocks);
  EXPECT_EQ(kind(1056, "equal:20000", WorkOrigin::given, 0, 2), WorkKind::clusters);
  EXPECT_EQ(kind(1056, "equal:20000:issue=5000"), WorkKind::issue_or_pipe_bound);
  EXPECT_EQ(kind(1056, "equal:20000:issue=20000"), WorkKind::always_issuing);
  EXPECT_EQ(kind(1056, "equal:20000:issue=20000:lockstep=9000"), WorkKind::always_issuing_known);
  EXPECT_EQ(kind(1056, "equal:20000:bytes=5000"), WorkKind::memory_bound);
  EXPECT_EQ(kind(1056, "equal:20000:issue=5000", WorkOrigin::given, 16), WorkKind::local_memory);
  EXPECT_EQ(kind(1056, "equal:20000", WorkOrigin::given, 16), WorkKind::local_memory);
  EXPECT_EQ(kind(132, "equal:20000", WorkOrigin::inferred), WorkKind::inferred_one_block);
  EXPECT_EQ(kind(133, "equal:20000", WorkOrigin::inferred), WorkKind::inferred_one_wave);
  EXPECT_EQ(kind(1057, "equal:20000", WorkOrigin::inferred), WorkKind::inferred_more_waves);
}

TEST(WorkKind, EachHasAMargin) {
  for (int number = 0; number < kWorkKinds; ++number) {
    const auto kind = static_cast<WorkKind>(number);
    const KindMargins& margins = margins_of(kind);
    EXPECT_GE(margins.achieved.below, 0) << to_string(kind);
    EXPECT_LT(margins.achieved.below, 1) << to_string(kind);
    EXPECT_FALSE(why_wide(kind, ProfileQuality::calibrated_device).empty()) << to_string(kind);
    EXPECT_THAT(std::string(description_of(kind)), testing::Not(HasSubstr(","))) << "for CSV";
  }
}

/// A wave and a half of equal blocks.
Prediction of_partial_wave(ProfileQuality quality) {
  ChosenProfile profile = chosen(find_profile("h100"));
  profile.quality = quality;
  if (quality == ProfileQuality::calibrated_device)
    profile.profile.model.gpc_clock_ppm = {130, -782, -163, -1190, 1092, 1206,
                                           -49, -163, -163, -49,   -49,  -49};
  return predict(launch_of(256, 1584, profile), Tasks(parse_work("equal:200000"), 1584, 8));
}

// Counters of nine H100s read 76.6 to 92.8 % of this launch (tests/data/fleet, tests/data/gpus).
TEST(Interval, OfAPartialWaveOnAnUnknownGpuIsWideAndSaysWhy) {
  const Interval of_model = of_partial_wave(ProfileQuality::calibrated_model).interval;
  EXPECT_LT(of_model.low, 76.6);
  EXPECT_GT(of_model.high, 90.9);
  EXPECT_THAT(interval_text(of_model, WorkKind::partial_last_wave, ProfileQuality::calibrated_model),
              HasSubstr("; a partial wave depends on the clocks of this GPU, which change"));
  const Interval of_device = of_partial_wave(ProfileQuality::calibrated_device).interval;
  EXPECT_LT(of_device.width(), of_model.width() / 2);
}

TEST(Interval, OverElapsedCyclesIsNarrowWhereverTheLastBlocksGo) {
  const Prediction prediction = of_partial_wave(ProfileQuality::calibrated_model);
  EXPECT_LT(prediction.elapsed_interval.width(), 1);
  EXPECT_TRUE(prediction.elapsed_interval.contains(prediction.predicted_elapsed_pct));
}

TEST(Interval, OfInferredWorkIsWiderThanOfTheSameWorkGiven) {
  const auto predicted = [](WorkOrigin origin) {
    return predict(launch_of(256, 2112, h200(), {}, origin), Tasks(parse_work("equal:20000"), 2112, 8));
  };
  EXPECT_EQ(predicted(WorkOrigin::given).predicted_pct, predicted(WorkOrigin::inferred).predicted_pct);
  EXPECT_GT(predicted(WorkOrigin::inferred).interval.width(),
            10 * predicted(WorkOrigin::given).interval.width());
}

TEST(Interval, IsPrintedInWholePercentsWhereItIsWideAndThenNoNarrowerThanItIs) {
  EXPECT_EQ(to_string(Interval{62.4, 92.3}), "62 to 93");
  EXPECT_EQ(to_string(Interval{74.84, 75.16}), "74.8 to 75.2");
  EXPECT_EQ(to_string(Interval{12.399999999999999, 12.500000000000002}), "12.4 to 12.5") << "a rounded sum";
  EXPECT_EQ(interval_text({74.84, 75.16}, WorkKind::even_waves, ProfileQuality::calibrated_device),
            "90 %: 74.8 to 75.2");
  EXPECT_EQ(named({74.84, 75.16}, ProfileQuality::generic), "range: 74.8 to 75.2");
}

TEST(Advice, ReadsNoSurerThanWhatItIsWorkedOutFrom) {
  const Tasks tasks(Work::equal(200'000), 2000, 8);
  const auto advice = [&](WorkOrigin origin) {
    const Asked asked = launch_of(256, 2000, h200(), {}, origin);
    return advise(asked, Work::equal(200'000), predict(asked, tasks)).value();
  };
  EXPECT_LT(advice(WorkOrigin::given).interval.width(), 2);
  const Advice of_inferred = advice(WorkOrigin::inferred);
  EXPECT_GT(of_inferred.interval.width(), 30) << "blocks are taken as equal";
  EXPECT_THAT(of_inferred.sentence, HasSubstr("if its blocks take equally long"));
  EXPECT_EQ(of_inferred.time_saved, advice(WorkOrigin::given).time_saved);
}

std::optional<Advice> advice_on_h200(const Launch& launch, const Work& work) {
  const Asked asked = launch_of(launch.block_threads, launch.grid_blocks);
  const Tasks tasks(work, launch.grid_blocks, (launch.block_threads + 31) / 32);
  return advise(asked, work, predict(asked, tasks));
}

// Summed here warp by warp, whatever total_cycles() does.
double cycles_of_all_warps(const Launch& launch, const Work& work) {
  const int warps = (launch.block_threads + 31) / 32;
  double cycles = 0;
  for (std::int64_t block = 0; block < launch.grid_blocks; ++block) {
    for (int warp = 0; warp < warps; ++warp)
      cycles += static_cast<double>(work.cycles_of_warp(block, warp, launch.grid_blocks, warps));
  }
  return cycles;
}

TEST(Advice, KeepsTheTotalOfEachDistribution) {
  std::mt19937 random(7);
  int given = 0;
  for (const char* form : {"equal:20000", "linear:20000:0.2:1.8", "every:20000:7:4", "last:20000:50:8",
                           "warp/uniform:20000:0.5:1.5:seed=3", "warp/every:20000:8:16",
                           "warp/last:20000:50:8", "equal:20000:issue=5000", "last:20000:50:8:bytes=30000"}) {
    const Work work = parse_work(form);
    for (int draw = 0; draw < 2; ++draw) {
      const Launch launch{.block_threads = 32 * std::uniform_int_distribution(1, 16)(random),
                          .grid_blocks = std::uniform_int_distribution(200, 2500)(random)};
      const std::optional<Advice> advice = advice_on_h200(launch, work);
      if (!advice) continue;
      ++given;
      const double asked = cycles_of_all_warps(launch, work);
      EXPECT_NEAR(cycles_of_all_warps(advice->launch, advice->work), asked, 0.001 * asked)
          << form << ": " << launch.grid_blocks << " blocks of " << launch.block_threads << "; "
          << advice->sentence << " " << to_string(advice->work);
      EXPECT_NEAR(total_cycles(advice->work, advice->launch), asked, 0.001 * asked);
      EXPECT_NEAR(advice->work.rates().issue, work.rates().issue, 1e-9);
      EXPECT_NEAR(advice->work.rates().bytes, work.rates().bytes, 1e-9);
    }
  }
  EXPECT_GT(given, 10);
}

TEST(Advice, HasNoOtherGridForWorkThatIsDrawn) {
  for (const char* form : {"lognormal:60000:0.8:seed=5", "exponential:20000:8:seed=3",
                           "uniform:20000:0.1:1.9:seed=3", "bimodal:20000:0.1:8:seed=3"}) {
    EXPECT_FALSE(advice_on_h200({.block_threads = 256, .grid_blocks = 2500}, parse_work(form)))
        << form << ": fewer blocks are another draw";
  }
  EXPECT_TRUE(advice_on_h200({.block_threads = 256, .grid_blocks = 2500}, parse_work("every:20000:7:4")));
}

TEST(Advice, OfUnevenWarpsWithinABlockIsAboutTheWarps) {
  // One warp of eight takes 16 times as long, in each block.
  const Launch launch{.block_threads = 256, .grid_blocks = 4224};
  const std::optional<Advice> advice = advice_on_h200(launch, parse_work("warp/every:20000:8:16"));
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->launch, launch);
  EXPECT_EQ(to_string(advice->work), "warp/equal:57500");  // 20,000 x (7 + 16) / 8
  EXPECT_THAT(advice->sentence, HasSubstr("equal shares for all warps"));
  EXPECT_GT(advice->time_saved_pct, 50);
}

TEST(Advice, OfATailIsAboutTheGrid) {
  const std::optional<Advice> advice =
      advice_on_h200({.block_threads = 256, .grid_blocks = 1100}, Work::equal(200'000));
  ASSERT_TRUE(advice);
  EXPECT_THAT(advice->sentence, HasSubstr("blocks of"));
}

}  // namespace
}  // namespace occbench
