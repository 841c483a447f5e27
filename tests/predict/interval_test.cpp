#include "predict/interval.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/prediction.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

constexpr double kLongBlock = 1e9;  ///< cycles, of which overheads are nothing

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

TEST(Interval, ReachesWhatTheBlocksOfTheFullestSmGive) {
  const Usage usage{.registers_per_thread = 32};
  const auto most = [&](std::int64_t grid, int cluster, std::string_view work) {
    const Launch launch{.block_threads = 256, .grid_blocks = grid, .cluster_blocks = cluster};
    return most_pct(launch, theoretical_occupancy(limits_of({9, 0}), launch, usage), 132,
                    Tasks(parse_work(work), grid, 8));
  };
  // Eight blocks of 8 warps fill an SM.
  EXPECT_EQ(most(1, 1, "equal:20000"), 12.5);
  EXPECT_EQ(most(133, 1, "equal:20000"), 25);
  EXPECT_EQ(most(1056, 1, "equal:20000"), 100);
  EXPECT_EQ(most(1056, 1, "warp/uniform:20000:0.5:1.5"), 100);
  EXPECT_EQ(most(132, 2, "equal:20000"), 100) << "where clusters go is not known";
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
  EXPECT_EQ(kind(1057, "uniform:20000:0.5:1.5"), WorkKind::uneven_blocks);
  EXPECT_EQ(kind(1057, "warp/uniform:20000:0.5:1.5"), WorkKind::uneven_warps);
  EXPECT_EQ(kind(1056, "equal:20000", WorkOrigin::given, 0, 2), WorkKind::clusters);
  EXPECT_EQ(kind(1056, "equal:20000:issue=5000"), WorkKind::issue_or_pipe_bound);
  EXPECT_EQ(kind(1056, "equal:20000:issue=20000"), WorkKind::always_issuing);
  EXPECT_EQ(kind(1056, "equal:20000:issue=20000:lockstep=9000"), WorkKind::always_issuing_known);
  EXPECT_EQ(kind(1056, "equal:20000:bytes=5000"), WorkKind::memory_bound);
  EXPECT_EQ(kind(1056, "equal:20000:issue=5000", WorkOrigin::given, 16), WorkKind::local_memory);
  EXPECT_EQ(kind(1056, "equal:20000", WorkOrigin::given, 16), WorkKind::even_waves) << "no contention";
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
Prediction of_partial_wave(ProfileQuality quality, Interval* text_of = nullptr) {
  ChosenProfile profile = chosen(find_profile("h100"));
  profile.quality = quality;
  if (quality == ProfileQuality::calibrated_device)
    profile.profile.model.gpc_clock_ppm = {130, -782, -163, -1190, 1092, 1206,
                                           -49, -163, -163, -49,   -49,  -49};
  const Prediction prediction =
      predict({.block_threads = 256, .grid_blocks = 1584}, {.registers_per_thread = 20}, limits_of({9, 0}),
              profile, Tasks(parse_work("equal:200000"), 1584, 8));
  if (text_of != nullptr) *text_of = prediction.interval;
  return prediction;
}

// Counters of nine H100s read 76.6 to 92.8 % of this launch (tests/data/fleet, tests/data/gpus).
TEST(Interval, OfAPartialWaveOnAnUnknownGpuIsWideAndSaysWhy) {
  Interval of_model;
  of_partial_wave(ProfileQuality::calibrated_model, &of_model);
  EXPECT_LT(of_model.low, 76.6);
  EXPECT_GT(of_model.high, 90.9);
  EXPECT_THAT(interval_text(of_model, WorkKind::partial_last_wave, ProfileQuality::calibrated_model),
              HasSubstr("; a partial wave depends on the clocks of this GPU: calibrate"));
  Interval of_device;
  of_partial_wave(ProfileQuality::calibrated_device, &of_device);
  EXPECT_LT(of_device.width(), of_model.width() / 2);
}

TEST(Interval, OverElapsedCyclesIsNarrowWhereverTheLastBlocksGo) {
  const Prediction prediction = of_partial_wave(ProfileQuality::calibrated_model);
  EXPECT_LT(prediction.elapsed_interval.width(), 1);
  EXPECT_TRUE(prediction.elapsed_interval.contains(prediction.predicted_elapsed_pct));
}

TEST(Interval, OfInferredWorkIsWiderThanOfTheSameWorkGiven) {
  const auto predicted = [](WorkOrigin origin) {
    return predict({.block_threads = 256, .grid_blocks = 2112}, {.registers_per_thread = 20},
                   limits_of({9, 0}), chosen(find_profile("h200")), Tasks(parse_work("equal:20000"), 2112, 8),
                   {}, origin);
  };
  EXPECT_EQ(predicted(WorkOrigin::given).predicted_pct, predicted(WorkOrigin::inferred).predicted_pct);
  EXPECT_GT(predicted(WorkOrigin::inferred).interval.width(),
            10 * predicted(WorkOrigin::given).interval.width());
}

TEST(Interval, IsPrintedInWholePercentsWhereItIsWide) {
  EXPECT_EQ(to_string(Interval{62.4, 92.3}), "62 to 92");
  EXPECT_EQ(to_string(Interval{74.84, 75.16}), "74.8 to 75.2");
  EXPECT_EQ(interval_text({74.84, 75.16}, WorkKind::even_waves, ProfileQuality::calibrated_device),
            "90 %: 74.8 to 75.2");
}

}  // namespace
}  // namespace occbench
