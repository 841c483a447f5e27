#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/text.hpp"
#include "occupancy/theory_advice.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Cliffs on(Axis axis, ComputeCapability capability, const Configuration& configuration) {
  for (const Cliffs& cliffs : cliffs(limits_of(capability), configuration)) {
    if (cliffs.axis == axis) return cliffs;
  }
  return {axis, {}, {}};
}

double pct(ComputeCapability capability, const Configuration& configuration) {
  return theoretical_occupancy(limits_of(capability), configuration.launch, configuration.usage)
      .theoretical_pct;
}

// 65536 registers over 64 warps are 32 a thread; over 48 warps 40 (42 less rounding); over 32 warps 64.
TEST(Cliffs, OneMoreRegisterCostsAWaveOfBlocksWhereTheRegisterFileIsJustFull) {
  struct Edge {
    ComputeCapability capability;
    int block_threads, registers;
    double before, after;
  };
  for (const Edge& edge : {Edge{{8, 0}, 512, 32, 100, 75}, Edge{{9, 0}, 512, 32, 100, 75},
                           Edge{{8, 6}, 256, 40, 100, 250.0 / 3}, Edge{{8, 9}, 256, 40, 100, 250.0 / 3},
                           Edge{{12, 0}, 256, 40, 100, 250.0 / 3}, Edge{{7, 5}, 256, 64, 100, 75}}) {
    const Configuration full{{.block_threads = edge.block_threads}, {.registers_per_thread = edge.registers}};
    ASSERT_EQ(pct(edge.capability, full), edge.before);
    const Cliffs cliffs = on(Axis::registers_per_thread, edge.capability, full);
    ASSERT_TRUE(cliffs.down);
    EXPECT_EQ(to_string(cliffs.down->change),
              fmt::format("{} registers per thread instead of {}", edge.registers + 1, edge.registers));
    EXPECT_DOUBLE_EQ(cliffs.down->theoretical_pct, edge.after);
    EXPECT_FALSE(cliffs.up);
  }
}

TEST(Cliffs, OneMoreThreadPerBlockTakesAWarpMore) {
  const Configuration full{{.block_threads = 512}, {.registers_per_thread = 32}};
  const Cliffs cliffs = on(Axis::block_threads, {9, 0}, full);
  ASSERT_TRUE(cliffs.down);
  EXPECT_EQ(to_string(cliffs.down->change), "513 threads per block instead of 512");
  EXPECT_EQ(cliffs.down->blocks_per_sm, 3);  // 17 warps
  EXPECT_DOUBLE_EQ(cliffs.down->theoretical_pct, 100 * 51.0 / 64);
}

TEST(Cliffs, SharedMemoryStepsAtAllocationBoundaries) {
  // 30000 + 1024 -> 31104 bytes: 7 blocks in 233472. For 8 blocks 29184 with the reserve: 28160.
  const Configuration seven{{.block_threads = 256},
                            {.registers_per_thread = 32, .static_shared_bytes = 30'000}};
  const Cliffs cliffs = on(Axis::shared_bytes_per_block, {9, 0}, seven);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(to_string(cliffs.up->change), "28160 B of shared memory per block instead of 30000 B");
  EXPECT_EQ(cliffs.up->change.to, 28'160);
  EXPECT_EQ(cliffs.up->theoretical_pct, 100);
  // For 6 blocks more than 233472 / 7 = 33353.1, so 33280 with the reserve is the last that fits 7.
  ASSERT_TRUE(cliffs.down);
  EXPECT_EQ(cliffs.down->change.to, 33'280 - 1024 + 1);
  EXPECT_EQ(to_string(cliffs.down->change), "32257 B of shared memory per block instead of 30000 B");
}

TEST(Cliffs, ACarveoutThatIsTooSmallIsRaisedNoFurtherThanNeeded) {
  // 15 KB + 1 KB: 25 % of 228 KB is 57, so 64 KB and 4 blocks; 29 % is 66, so 100 KB and 6 blocks.
  const Configuration small{{.block_threads = 256, .carveout_pct = 25},
                            {.registers_per_thread = 32, .static_shared_bytes = 15 * 1024}};
  const Cliffs cliffs = on(Axis::carveout_pct, {9, 0}, small);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(to_string(cliffs.up->change), "29 % as the carveout instead of 25 %");
  EXPECT_EQ(cliffs.up->blocks_per_sm, 6);
  ASSERT_TRUE(cliffs.down);
  EXPECT_EQ(cliffs.down->change.to, 14);  // 31.9 KB, so 32
  const Configuration by_default{{.block_threads = 256}, small.usage};
  EXPECT_EQ(to_string(on(Axis::carveout_pct, {9, 0}, by_default).down->change),
            "43 % as the carveout instead of the default");
  EXPECT_FALSE(on(Axis::carveout_pct, {5, 2}, small).down);
}

TEST(Cliffs, BarriersStepFromHopperOn) {
  const Configuration many{{.block_threads = 32}, {.registers_per_thread = 32, .barriers = 3}};
  const Cliffs cliffs = on(Axis::barriers, {9, 0}, many);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(to_string(cliffs.up->change), "2 barriers per block instead of 3");
  EXPECT_EQ(cliffs.up->blocks_per_sm, 32);
  EXPECT_FALSE(on(Axis::barriers, {8, 0}, many).up);
}

TEST(Cliffs, RaisingOccupancyTakesWholeWarps) {
  // 32 block slots hold 32 warps; 33 threads would hold 64 warps of which half idle.
  const Configuration tiny{{.block_threads = 32}, {.registers_per_thread = 32}};
  const Cliffs cliffs = on(Axis::block_threads, {9, 0}, tiny);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(cliffs.up->change.to, 64);
}

// By exhaustion over all values, not the candidates that the search looks at.
TEST(Cliffs, AreTheNearestThatThereAre) {
  const Limits& limits = limits_of({8, 6});
  for (int shared = 0; shared < 40'000; shared += 1999) {
    for (const int registers : {24, 40, 63, 100}) {
      const Configuration at{{.block_threads = 192},
                             {.registers_per_thread = registers, .static_shared_bytes = shared}};
      const Cliffs cliffs = on(Axis::shared_bytes_per_block, {8, 6}, at);
      const auto warps = [&](int bytes) {
        const auto [launch, usage] = with(Axis::shared_bytes_per_block, bytes, at);
        return theoretical_occupancy(limits, launch, usage).warps_per_sm();
      };
      int up = shared;
      while (up >= 0 && warps(up) <= warps(shared)) --up;
      int down = shared;
      while (down <= limits.max_shared_bytes_per_block && warps(down) >= warps(shared)) ++down;
      ASSERT_EQ(cliffs.up.has_value(), up >= 0);
      if (cliffs.up) {
        EXPECT_EQ(cliffs.up->change.to, up);
      }
      ASSERT_TRUE(cliffs.down);
      EXPECT_EQ(cliffs.down->change.to, down);
    }
  }
}

TEST(BestPair, LowersBothOfTwoResourcesThatTie) {
  // 4 blocks by registers (64 x 256) and by shared memory: neither alone makes room for a fifth.
  const Configuration tied{{.block_threads = 256},
                           {.registers_per_thread = 64, .static_shared_bytes = 57'000}};
  const Limits& limits = limits_of({9, 0});
  ASSERT_EQ(pct({9, 0}, tied), 50);
  for (const Axis axis : {Axis::registers_per_thread, Axis::shared_bytes_per_block}) {
    EXPECT_FALSE(on(axis, {9, 0}, tied).up);
  }
  const std::optional<PairOfChanges> pair = best_pair(limits, tied);
  ASSERT_TRUE(pair);
  const Configuration changed =
      with(pair->second.axis, pair->second.to, with(pair->first.axis, pair->first.to, tied));
  EXPECT_EQ(pct({9, 0}, changed), pair->theoretical_pct);
  EXPECT_GT(pair->theoretical_pct, 50);
}

// By exhaustion over every pair of register count and shared memory, at the two axes that always tie.
TEST(BestPair, IsNoDearerThanAnyPairOfFewerRegistersAndLessSharedMemoryThatReachesAsMuch) {
  const Limits& limits = limits_of({8, 0});
  const Configuration tied{{.block_threads = 512},
                           {.registers_per_thread = 40, .static_shared_bytes = 41'000}};
  const std::optional<PairOfChanges> pair = best_pair(limits, tied);
  ASSERT_TRUE(pair);
  double least = 2;
  for (int registers = 1; registers < 40; ++registers) {
    for (int shared = 0; shared < 41'000; shared += 8) {
      const Usage usage{.registers_per_thread = registers, .static_shared_bytes = shared};
      if (theoretical_occupancy(limits, tied.launch, usage).theoretical_pct < pair->theoretical_pct) continue;
      least = std::min(least, cost_of({Axis::registers_per_thread, 40, registers}) +
                                  cost_of({Axis::shared_bytes_per_block, 41'000, shared}));
    }
  }
  EXPECT_LE(cost_of(pair->first) + cost_of(pair->second), least);
  EXPECT_LT(least, 2);
}

// Both pairs need 168 registers, which is beyond a step of 200. 160 threads are cheaper than 76,800 B, and half of the gain.
TEST(BestPair, ReachesMostOfThoseThatGoAsFarBeyondAStep) {
  const std::optional<PairOfChanges> pair =
      best_pair(limits_of({9, 0}),
                {{.block_threads = 128, .dynamic_shared_bytes = 102'400}, {.registers_per_thread = 200}});
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->first, (Change{Axis::registers_per_thread, 200, 168}));
  EXPECT_EQ(pair->second, (Change{Axis::shared_bytes_per_block, 102'400, 76'800}));
  EXPECT_EQ(pair->theoretical_pct, 18.75);
}

TEST(Curves, TouchTheCurrentPointAndFallWithRegistersAndSharedMemory) {
  const Limits& limits = limits_of({8, 9});
  const Configuration at{{.block_threads = 128}, {.registers_per_thread = 51, .static_shared_bytes = 4096}};
  for (const Axis axis : kCurveAxes) {
    const std::vector<CurvePoint> points = curve(limits, at, axis);
    const auto current = std::ranges::find(points, value_on(axis, at), &CurvePoint::value);
    ASSERT_NE(current, points.end());
    EXPECT_EQ(current->theoretical_pct, pct({8, 9}, at));
    EXPECT_TRUE(axis == Axis::block_threads ||
                std::ranges::is_sorted(points, std::ranges::greater(), &CurvePoint::theoretical_pct));
  }
  EXPECT_EQ(curve(limits, at, Axis::block_threads).size(), 32u);
  EXPECT_EQ(curve(limits, at, Axis::registers_per_thread).size(), 255u);
}

double pct(const Limits& limits, const Configuration& configuration) {
  return theoretical_occupancy(limits, configuration.launch, configuration.usage).theoretical_pct;
}

/// All values of an axis that the header calls one step away, by hand. Occupancy does not fall as shared memory does,
/// so of its bytes every 61st and the least are enough to find the highest occupancy.
std::vector<std::int64_t> one_step_away(const Limits& limits, Axis axis, std::int64_t now) {
  std::vector<std::int64_t> values;
  switch (axis) {
    case Axis::registers_per_thread:
      for (std::int64_t fewer = 1; fewer <= 16 && now - fewer >= 16; ++fewer) values.push_back(now - fewer);
      break;
    case Axis::block_threads:
      for (std::int64_t threads = 32; threads <= limits.max_threads_per_block; threads += 32) {
        if (2 * threads >= now && threads <= 2 * now && threads != now) values.push_back(threads);
      }
      break;
    case Axis::shared_bytes_per_block:
      for (std::int64_t bytes = (now + 1) / 2; bytes < now; bytes += 61) values.push_back(bytes);
      break;
    case Axis::carveout_pct:
      for (std::int64_t more = now + 1; now >= 0 && more <= 100; ++more) values.push_back(more);
      break;
    case Axis::barriers:
      for (std::int64_t fewer = now - 1; 2 * fewer >= now && fewer >= 0; --fewer) values.push_back(fewer);
      break;
  }
  return values;
}

Configuration drawn(const Limits& limits, std::mt19937& random) {
  const auto from_to = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Configuration drawn;
  drawn.launch.block_threads = static_cast<int>(from_to(1, limits.max_threads_per_block));
  if (from_to(0, 3) > 0) drawn.launch.block_threads = (drawn.launch.block_threads + 31) / 32 * 32;
  drawn.usage.registers_per_thread =
      static_cast<int>(from_to(8, std::min(200, limits.max_registers_per_thread)));
  if (from_to(0, 1) == 1) drawn.usage.static_shared_bytes = from_to(0, 16 * 1024);
  if (from_to(0, 1) == 1)
    drawn.launch.dynamic_shared_bytes =
        from_to(0, limits.max_shared_bytes_per_block - drawn.usage.static_shared_bytes);
  if (from_to(0, 2) == 0) drawn.launch.carveout_pct = static_cast<int>(from_to(0, 100));
  if (from_to(0, 4) == 0) drawn.usage.barriers = static_cast<int>(from_to(0, 16));
  return drawn;
}

TEST(TheoryAdvice, ReachesTheHighestOccupancyThatAnySingleChangeWithinReachDoes) {
  std::mt19937 random(44);
  int helped = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Limits& limits = all_limits()[static_cast<std::size_t>(i) % all_limits().size()];
    const Configuration now = drawn(limits, random);
    const double now_pct = pct(limits, now);
    double highest = now_pct;
    for (const Axis axis : kAllAxes) {
      for (const std::int64_t to : one_step_away(limits, axis, value_on(axis, now)))
        highest = std::max(highest, pct(limits, with(axis, to, now)));
    }
    const TheoryAdvice advice = advise_on_theory(limits, now);
    const std::string place =
        fmt::format("{}: {} threads, {} registers, {} + {} B", to_string(limits.compute_capability),
                    now.launch.block_threads, now.usage.registers_per_thread, now.usage.static_shared_bytes,
                    now.launch.dynamic_shared_bytes);
    EXPECT_EQ(advice.theoretical_pct, now_pct);
    ASSERT_EQ(advice.highest.empty(), highest == now_pct) << place;
    std::vector<Step> named = advice.highest;
    if (advice.below) named.push_back(*advice.below);
    if (advice.carveout) named.push_back(*advice.carveout);
    const bool names_carveout =
        std::ranges::any_of(named, [](const Step& step) { return step.change.axis == Axis::carveout_pct; });
    double by_carveout = now_pct;
    for (const std::int64_t to : one_step_away(limits, Axis::carveout_pct, value_on(Axis::carveout_pct, now)))
      by_carveout = std::max(by_carveout, pct(limits, with(Axis::carveout_pct, to, now)));
    ASSERT_EQ(names_carveout, by_carveout > now_pct) << place;
    if (advice.carveout) {
      EXPECT_EQ(advice.carveout->theoretical_pct, by_carveout) << place;
    }
    if (advice.highest.empty()) continue;
    ++helped;
    ASSERT_EQ(advice.highest.front().theoretical_pct, highest) << place;
    for (const Step& step : advice.highest) {
      EXPECT_EQ(pct(limits, with(step.change.axis, step.change.to, now)), highest) << place;
    }
    if (!advice.below) continue;
    EXPECT_LT(advice.below->theoretical_pct, highest) << place;
    EXPECT_GT(advice.below->theoretical_pct, now_pct) << place;
  }
  EXPECT_GT(helped, 1'250);
}

/// Every axis with every value of a step, shared memory byte by byte: the smallest change of each axis is named, the
/// axes in their order, and the level below.
TEST(TheoryAdvice, NamesTheSmallestChangeOfEveryAxisThatReachesItCheapestFirst) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    const Limits& limits = limits_of({9, 0});
    Configuration now = drawn(limits, random);
    now.launch.dynamic_shared_bytes %= 20'000;
    const TheoryAdvice advice = advise_on_theory(limits, now);
    if (advice.highest.empty()) continue;
    std::vector<Change> expected;
    double second = 0;
    for (const Axis axis : kAxesByCost) {
      const std::int64_t from = value_on(axis, now);
      std::vector<std::int64_t> values = one_step_away(limits, axis, from);
      if (axis == Axis::shared_bytes_per_block) {
        values.clear();
        for (std::int64_t bytes = (from + 1) / 2; bytes < from; ++bytes) values.push_back(bytes);
      }
      std::map<bool, std::int64_t> nearest;
      for (const std::int64_t to : values) {
        const double reached = pct(limits, with(axis, to, now));
        if (reached < advice.highest.front().theoretical_pct && reached > advice.theoretical_pct)
          second = std::max(second, reached);
        if (reached != advice.highest.front().theoretical_pct) continue;
        const auto [place, is_first] = nearest.try_emplace(to > from, to);
        if (!is_first && std::abs(to - from) < std::abs(place->second - from)) place->second = to;
      }
      std::vector<Change> on_axis;
      for (const auto& [more, to] : nearest) on_axis.push_back({axis, from, to});
      std::ranges::stable_sort(on_axis, {}, [](const Change& each) { return std::abs(each.to - each.from); });
      expected.insert(expected.end(), on_axis.begin(), on_axis.end());
    }
    std::vector<Change> named;
    for (const Step& step : advice.highest) named.push_back(step.change);
    EXPECT_EQ(named, expected);
    EXPECT_EQ(advice.below ? advice.below->theoretical_pct : 0, second);
  }
}

// A performance engineer's launch: 24 warps of 48 that registers and shared memory allow.
TEST(TheoryAdvice, NamesFourFewerRegistersOfALaunchOnAnRtx4090) {
  const TheoryAdvice advice = advise_on_theory(
      limits_of({8, 9}),
      {{.block_threads = 384, .dynamic_shared_bytes = 20 * 1024}, {.registers_per_thread = 44}});
  ASSERT_FALSE(advice.highest.empty());
  EXPECT_EQ(advice.highest[0].change, (Change{Axis::registers_per_thread, 44, 40}));
  EXPECT_EQ(advice.highest[0].theoretical_pct, 100);
  ASSERT_TRUE(advice.below);
  EXPECT_EQ(advice.below->change.axis, Axis::block_threads);
  EXPECT_NEAR(advice.below->theoretical_pct, 83.33, 0.01);
  EXPECT_THAT(sentences(advice).front(), HasSubstr("40 registers per thread instead of 44: 100 %, 4 blocks"));
  EXPECT_THAT(sentences(advice),
              testing::ElementsAre(testing::_, HasSubstr("83.33 %"),
                                   HasSubstr("taken to have 20480 B of shared memory, too")));
}

TEST(TheoryAdvice, NamesBlockSizesOnEitherSide) {
  const TheoryAdvice advice =
      advise_on_theory(limits_of({9, 0}), {{.block_threads = 768}, {.registers_per_thread = 32}});
  ASSERT_EQ(advice.highest.size(), 2);
  EXPECT_THAT((std::vector{advice.highest[0].change.to, advice.highest[1].change.to}),
              ElementsAre(512, 1024));
  EXPECT_THAT(sentences(advice)[0], HasSubstr("1.5 times as many blocks"));
  // Three blocks of 16 warps instead of two of 24: 25 % less time if a warp takes as long.
  const double ratio = least_time_ratio(advice);
  EXPECT_EQ(most_time_saved(ratio, 0), 0.25);
  // 2.6 waves in three rounds are 1.95 in two, and 1.02 are less than one.
  EXPECT_NEAR(most_time_saved(ratio, 1000.0 / 384), 1 / 3.0, 1e-9);
  EXPECT_NEAR(most_time_saved(ratio, 1.02), 0.5, 1e-9);
  EXPECT_EQ(most_time_saved(ratio, 4), 0.25);
  EXPECT_EQ(most_time_saved(1, 1.02), 0);
  EXPECT_EQ(most_time_saved(ratio, 1), 0) << "all blocks are resident at once";
}

TEST(TheoryAdvice, CountsTheLanesThatAThreadFills) {
  // 32 blocks of a warp fill half of an SM's warps, and half of their lanes have no thread.
  const TheoryAdvice half =
      advise_on_theory(limits_of({9, 0}), {{.block_threads = 16}, {.registers_per_thread = 32}});
  EXPECT_EQ(reached_pct(half), 100);
  EXPECT_EQ(least_time_ratio(half), 0.25);
  EXPECT_NEAR(most_time_saved(least_time_ratio(half), 100'000.0 / 4224), 1 - 6 / 24.0, 1e-9);
}

TEST(TheoryAdvice, SaysThatNoSmallChangeHelpsAndWhichLargerOneDoes) {
  // 128 registers and 256 threads: 16 warps. 112 still do; 80 allow a third block.
  const TheoryAdvice far =
      advise_on_theory(limits_of({9, 0}), {{.block_threads = 256}, {.registers_per_thread = 128}});
  EXPECT_TRUE(far.highest.empty());
  ASSERT_TRUE(far.beyond);
  EXPECT_FALSE(far.pair);
  EXPECT_EQ(far.beyond->change, (Change{Axis::registers_per_thread, 128, 80}));
  EXPECT_THAT(sentences(far)[0], HasSubstr("No small change raises 25 %"));
  // Registers and shared memory tie, and no block size fits more warps.
  const TheoryAdvice tied = advise_on_theory(
      limits_of({9, 0}),
      {{.block_threads = 1024, .dynamic_shared_bytes = 116 * 1024}, {.registers_per_thread = 64}});
  EXPECT_TRUE(tied.highest.empty());
  EXPECT_FALSE(tied.beyond);
  ASSERT_TRUE(tied.pair);
  EXPECT_EQ(tied.pair->first, (Change{Axis::registers_per_thread, 64, 32}));
  EXPECT_EQ(tied.pair->second, (Change{Axis::shared_bytes_per_block, 116 * 1024, 113 * 1024}));
  EXPECT_THAT(
      sentences(advise_on_theory(limits_of({9, 0}), {{.block_threads = 512}, {.registers_per_thread = 32}})),
      ElementsAre("Theory cannot rise: 100 %."));
}

/// Advice on a launch that registers and shared memory limit to as many blocks.
TheoryAdvice on_tied(ComputeCapability capability, int block_threads, int registers, int bytes) {
  return advise_on_theory(
      limits_of(capability),
      {{.block_threads = block_threads, .dynamic_shared_bytes = bytes}, {.registers_per_thread = registers}});
}

/// "ONE CHANGE'S PCT: FIRST, SECOND: PCT, BLOCKS" of the advice on such a launch.
std::string two_changes(const TheoryAdvice& advice) {
  if (!advice.within_reach) return "none within reach";
  const auto& [first, second, blocks, reached] = *advice.within_reach;
  return fmt::format("{:.4g}: {}, {}: {:.5g}, {}",
                     advice.highest.empty() ? advice.theoretical_pct : advice.highest[0].theoretical_pct,
                     to_string(first), to_string(second), reached, blocks);
}

TEST(TheoryAdvice, NamesTwoChangesThatReachClearlyMoreThanOneWhereLimitersTie) {
  // 7 blocks of 5 warps by both; 6 of 8 warps have 10,240 registers each.
  const TheoryAdvice seven = on_tied({8, 6}, 160, 52, 13'000);
  ASSERT_EQ(seven.highest.size(), 1u);
  EXPECT_EQ(seven.highest[0].change, (Change{Axis::block_threads, 160, 192}));
  EXPECT_EQ(two_changes(seven),
            "75: 256 threads per block instead of 160, 40 registers per thread instead of 52: 100, 6");
  EXPECT_EQ(reached_pct(seven), seven.within_reach->theoretical_pct);
  EXPECT_THAT(sentences(seven).end()[-2],
              HasSubstr("Two changes reach more: 256 threads per block instead of 160 and 40 registers per "
                        "thread instead of "
                        "52 together: 100 %, 6 blocks per SM; the grid needs 0.625 times as many blocks"));
  // 10 blocks of 3 warps; 13 have 4,608 registers and 7,808 B each.
  EXPECT_THAT(two_changes(on_tied({12, 0}, 96, 58, 8'700)),
              AllOf(StartsWith("66.67: "),
                    HasSubstr(", 6784 B of shared memory per block instead of 8700 B: 81.25, ")));
  // 5 blocks of 5 warps; 7 have 8,960 registers and 33,280 B each.
  EXPECT_THAT(two_changes(on_tied({9, 0}, 160, 68, 43'921)),
              StartsWith("43.75: 56 registers per thread instead of 68, 32256 B of shared memory per block "
                         "instead of 43921 B: "));
  // A register fewer gives all.
  EXPECT_EQ(on_tied({9, 0}, 512, 33, 0).highest.at(0).theoretical_pct, 100);
  EXPECT_EQ(two_changes(on_tied({9, 0}, 512, 33, 0)), "none within reach");
}

TEST(TheoryAdvice, NamesTheTwoChangesThatReachMost) {
  // 31 blocks with 7,424 B each, 1,024 of them the driver's. A 32nd would be 3 % more, and cost more.
  EXPECT_THAT(two_changes(on_tied({9, 0}, 64, 33, 7'000)),
              HasSubstr(": 32 registers per thread instead of 33, 6400 B of shared memory per block instead "
                        "of 7000 B: 96.875, "));
  // What registers are rounded to depends on the block size.
  EXPECT_THAT(
      two_changes(on_tied({9, 0}, 384, 64, 100 * 1024)),
      HasSubstr(": 640 threads per block instead of 384, 48 registers per thread instead of 64: 62.5, "));
  EXPECT_EQ(reached_pct(on_tied({8, 0}, 384, 64, 70 * 1024)), 62.5);
  EXPECT_EQ(reached_pct(on_tied({9, 0}, 128, 72, 32 * 1024)), 56.25);
  const TheoryAdvice only = on_tied({8, 9}, 64, 60, 5'000);
  ASSERT_TRUE(only.pair);
  EXPECT_EQ(only.pair->blocks_per_sm, 20);
  EXPECT_NEAR(only.pair->theoretical_pct, 83.33, 0.01);
}

TEST(TheoryAdvice, NamesTwoChangesWhereTheBestOfOneMeetsTheNextLimiter) {
  // 10 blocks by registers and 11 by shared memory; 16 have 4,096 registers and 14,592 B each, 1,024 of them the driver's.
  EXPECT_EQ(two_changes(on_tied({9, 0}, 128, 48, 20'000)),
            "68.75: 32 registers per thread instead of 48, 13568 B of shared memory per block instead of "
            "20000 B: 100, 16");
  // 6 blocks by registers and 7 by shared memory.
  EXPECT_THAT(two_changes(on_tied({8, 0}, 256, 40, 22'000)),
              StartsWith("87.5: 32 registers per thread instead of 40, 19968 B of shared memory per block "
                         "instead of 22000 B: 100, "));
}

TEST(TheoryAdvice, NamesTwoChangesAlsoWhereOneResourceAloneLimits) {
  // 1 block of 24 warps by registers, of 48. 2 blocks of 20 have 30,720 registers each; one change gives 32 warps.
  EXPECT_THAT(two_changes(on_tied({8, 9}, 768, 64, 32 * 1024)),
              StartsWith("66.67: 640 threads per block instead of 768, 48 registers per thread instead of "
                         "64: 83.333, "));
  // 128 threads and 72 registers fill 28 of a T4's 32 warps; what is named costs no more and reaches 0.95 of that.
  const TheoryAdvice six = on_tied({7, 5}, 96, 88, 9 * 1024);
  EXPECT_EQ(six.highest.at(0).theoretical_pct, 65.625);
  ASSERT_TRUE(six.within_reach);
  EXPECT_GE(six.within_reach->theoretical_pct * kClearlyMore, 87.5);
}

// 142 registers: 46 fewer would be the smallest single change.
TEST(TheoryAdvice, NamesTwoSmallChangesWhereOneHasToBeLarge) {
  const TheoryAdvice advice =
      advise_on_theory(limits_of({8, 9}), {{.block_threads = 192}, {.registers_per_thread = 142}});
  ASSERT_TRUE(advice.beyond);
  EXPECT_EQ(advice.beyond->change, (Change{Axis::registers_per_thread, 142, 96}));
  ASSERT_TRUE(advice.within_reach);
  EXPECT_NEAR(advice.within_reach->theoretical_pct, 33.33, 0.01);
  EXPECT_THAT(sentences(advice).back(), HasSubstr("Two small changes do: "));
}

/// Each pair of changes within reach, and the occupancy that it gives. Of shared memory the least, or every 61st byte.
void for_each_pair(const Limits& limits, const Configuration& now, bool every_size, const auto& with_pair) {
  const auto changes = [&](Axis axis) {
    const std::int64_t from = value_on(axis, now);
    std::vector<std::int64_t> values = one_step_away(limits, axis, from);
    if (axis == Axis::shared_bytes_per_block && !every_size && !values.empty()) values.resize(1);
    return mapped(values, [&](std::int64_t to) { return Change{axis, from, to}; });
  };
  for (const Axis one : kAllAxes) {
    for (const Axis other : kAllAxes) {
      if (other <= one) continue;
      for (const Change& first : changes(one)) {
        for (const Change& second : changes(other))
          with_pair(first, second, pct(limits, with(other, second.to, with(one, first.to, now))));
      }
    }
  }
}

TEST(TheoryAdvice, NamesTheCheapestOfTheTwoChangesWithinReachThatReachMost) {
  std::mt19937 random(9);
  int met = 0;
  int named = 0;
  while (met < 400) {
    const Limits& limits = all_limits()[random() % all_limits().size()];
    const Configuration now = drawn(limits, random);
    const TheoryAdvice advice = advise_on_theory(limits, now);
    ++met;
    const double above =
        advice.highest.empty() ? advice.theoretical_pct : advice.highest[0].theoretical_pct * kClearlyMore;
    double highest = above;
    for_each_pair(limits, now, false, [&](const Change&, const Change&, double reached) {
      highest = std::max(highest, reached);
    });
    const auto& pair = advice.within_reach ? advice.within_reach : advice.pair;
    EXPECT_LE(highest, (pair ? pair->theoretical_pct * kClearlyMore : above));
    if (!advice.within_reach) continue;
    ++named;
    const auto& [first, second, blocks, reached_now] = *advice.within_reach;
    double least = 2;
    for_each_pair(limits, now, true, [&](const Change& one, const Change& other, double reached) {
      if (reached > above && reached * kClearlyMore >= highest)
        least = std::min(least, cost_of(one) + cost_of(other));
    });
    EXPECT_LE(cost_of(first) + cost_of(second), least);
    EXPECT_EQ(pct(limits, with(second.axis, second.to, with(first.axis, first.to, now))), reached_now);
    EXPECT_GT(reached_now, above);
    for (const Change& change : {first, second}) {
      EXPECT_TRUE(change.axis == Axis::shared_bytes_per_block
                      ? change.to < change.from && 2 * change.to >= change.from
                      : std::ranges::count(one_step_away(limits, change.axis, change.from), change.to) == 1)
          << to_string(change);
    }
  }
  EXPECT_GT(named, 20);
}

std::string why_not(std::string_view name) {
  return message_of([&] { gpu_of(name); });
}

TEST(Gpus, AreMoreThanAHundredFromG80ToBlackwell) {
  EXPECT_GT(all_gpus().size(), 100u);
  EXPECT_EQ(all_gpus().front().name, "8800-gtx");
  EXPECT_EQ(all_gpus().back().name, "gb10");
}

// 10.1 became 11.0 with CUDA 13, before a product had it.
TEST(Gpus, AreOfEveryComputeCapabilityOfTheLimitsTableBut101AndOfNoOther) {
  std::set<ComputeCapability> of_gpus;
  for (const Gpu& gpu : all_gpus()) of_gpus.insert(gpu.compute_capability);
  std::set<ComputeCapability> of_limits;
  for (const Limits& limits : all_limits()) of_limits.insert(limits.compute_capability);
  of_limits.erase({10, 1});
  EXPECT_EQ(of_gpus, of_limits);
}

TEST(Gpus, HaveNamesOfTheirOwnInLowerCaseWithDashes) {
  std::set<std::string_view> names;
  std::set<std::pair<std::string_view, int>> driver_names;  // a driver may call two cards the same
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_TRUE(gpu.driver_name.empty() || driver_names.insert({gpu.driver_name, gpu.sm_count}).second)
        << gpu.driver_name;
    EXPECT_TRUE(std::ranges::all_of(gpu.name, [](unsigned char c) {
      return std::islower(c) || std::isdigit(c) || c == '-';
    })) << gpu.name;
  }
}

TEST(Gpus, ThatContainWhatIsAskedForAreNearer) {
  EXPECT_THAT(why_not("sxm4"), HasSubstr("the nearest are a100-sxm4-40gb, a100-sxm4-80gb, "));
}

// Both names must lead to the line itself, not to one whose name folds to the same.
TEST(Gpus, AreFoundByTheirKeyAndByTheDriversName) {
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_EQ(&gpu_of(gpu.name), &gpu) << gpu.name;
    if (gpu.driver_name.empty()) continue;
    EXPECT_EQ(find_gpu_by_driver_name(gpu.driver_name)->driver_name, gpu.driver_name);
    const std::vector<const Gpu*> meant = gpus_of(gpu.driver_name);
    EXPECT_NE(std::ranges::find(meant, &gpu), meant.end()) << gpu.driver_name;
  }
}

TEST(Gpus, AreFoundHoweverTheirNameIsTyped) {
  EXPECT_EQ(gpu_of("A100-SXM4-80GB").name, "a100-sxm4-80gb");
  EXPECT_EQ(gpu_of("nvidia h100 80gb hbm3").name, "h100-sxm5-80gb");
  EXPECT_EQ(gpu_of("NVIDIA_H100_80GB_HBM3").name, "h100-sxm5-80gb");
  EXPECT_EQ(gpu_of("NVIDIA-A100-SXM4-80GB").name, "a100-sxm4-80gb");
  EXPECT_EQ(gpu_of("RTX4090").name, "rtx-4090");
  EXPECT_EQ(gpu_of("a100_sxm4_80gb").name, "a100-sxm4-80gb");
  EXPECT_EQ(gpu_of("RTX 4090").name, "rtx-4090");
  EXPECT_EQ(gpu_of("H100 SXM").name, "h100-sxm5-80gb");
  EXPECT_EQ(gpu_of("l4").name, "l4");
  EXPECT_THAT(why_not("rtx3080"), HasSubstr("'rtx3080' may be rtx-3080-10gb (68 SMs, 760 GB/s), rtx-3080-"));
  EXPECT_EQ(gpu_of("jetson agx orin 64gb").name, "jetson-agx-orin-64gb");
  EXPECT_EQ(gpu_of("Tesla V100S-PCIE-32GB").name, "v100s-pcie-32gb");
}

std::string keys_of(std::string_view name) {
  return fmt::format("{}", fmt::join(mapped(gpus_of(name), [](const Gpu* gpu) { return gpu->name; }), " "));
}

// Of several GPUs that people call so, the first of the table would be a guess.
TEST(Gpus, ThatShareWordsOfTheirNamesAreAllNamed) {
  EXPECT_EQ(keys_of("rtx 6000"),
            "quadro-rtx-6000 rtx-6000-ada rtx-pro-6000-blackwell rtx-pro-6000-blackwell-server");
  EXPECT_EQ(keys_of("6000"), "quadro-rtx-6000 rtx-6000-ada");
  EXPECT_EQ(keys_of("titan"), "gtx-titan gtx-titan-x titan-x-pascal titan-xp titan-v titan-rtx");
  EXPECT_EQ(keys_of("titan x"), "gtx-titan-x titan-x-pascal");
  for (const char* name : {"gtx-1060", "1060", "GeForce GTX 1060"})
    EXPECT_THAT(why_not(name),
                HasSubstr("may be gtx-1060-3gb (9 SMs, 192 GB/s), gtx-1060-6gb (10 SMs, 192 GB/s)"))
        << name;
  EXPECT_EQ(keys_of("jetson orin"),
            "jetson-orin-nano-8gb jetson-orin-nx-16gb jetson-agx-orin-32gb jetson-agx-orin-64gb");
  EXPECT_THAT(why_not("NVIDIA GeForce RTX 3080"),
              HasSubstr("may be rtx-3080-10gb (68 SMs, 760 GB/s), rtx-3080-12gb (70 SMs, 912 GB/s): "));
  EXPECT_THAT(keys_of("v100s"), HasSubstr("v100s-pcie-32gb"));
  EXPECT_EQ(keys_of("1080"), "gtx-1080") << "and not the Ti, whose name goes on";
  for (const char* word : {"ada", "8gb", "pcie", "blackwell"})
    EXPECT_THAT(why_not(word), HasSubstr("no GPU of the table is called")) << word;
}

/// What a key may leave out and still mean its GPU: form, memory, generation, and the kind of a Jetson.
bool may_be_left_out(std::string_view word) {
  static const std::set<std::string_view> kWords = {"pcie",   "nvl",  "pro", "blackwell", "ada", "pascal",
                                                    "server", "orin", "agx", "nano",      "nx"};
  return word.ends_with("gb") || word.starts_with("sxm") || kWords.contains(word);
}

TEST(Gpus, ThatAreAnotherProductThanTheTypedOneAreSuggestedAndNotTaken) {
  // A GTX 1660 has 22 SMs, a GTX 1660 Ti 24; a Quadro 6000 is of Fermi.
  for (const char* name : {"gtx-1660", "1660", "GeForce GTX 1660", "gtx1660", "gtx 1660 super"})
    EXPECT_THAT(why_not(name),
                AllOf(HasSubstr("no GPU of the table is called"), HasSubstr("are gtx-1660-ti")));
  EXPECT_THAT(why_not("5060"), HasSubstr("'5060'; the nearest are rtx-5060-ti"));
  EXPECT_THAT(why_not("quadro 6000"), HasSubstr("quadro-rtx-6000; "));
  EXPECT_THAT(why_not("9800"), HasSubstr("the nearest are 9800-gtx"));
  EXPECT_EQ(gpu_of("4080s").name, "rtx-4080-super");
  EXPECT_EQ(gpu_of("1660 ti").name, "gtx-1660-ti");
}

// Over all keys, and of each all names that leave words of it out.
TEST(Gpus, AreNotFoundByANameThatLeavesOutWhatMakesThemAProductOfTheirOwn) {
  int answered = 0;
  for (const Gpu& gpu : all_gpus()) {
    const std::vector<std::string_view> words = split(gpu.name, '-');
    for (unsigned kept = 1; kept < 1u << words.size(); ++kept) {
      std::vector<std::string_view> typed;
      std::vector<std::string_view> left_out;
      for (std::size_t i = 0; i < words.size(); ++i) {
        if ((kept >> i & 1) != 0) {
          typed.push_back(words[i]);
        } else if (!typed.empty()) {
          left_out.push_back(words[i]);
        }
      }
      const std::string name = fmt::format("{}", fmt::join(typed, "-"));
      std::vector<const Gpu*> meant;
      try {
        meant = gpus_of(name);
      } catch (const InputError&) {
        continue;
      }
      if (meant.size() > 1 || meant.front() != &gpu) continue;
      ++answered;
      const bool leaves_a_number_out = std::ranges::any_of(left_out, [](std::string_view word) {
        return std::isdigit(static_cast<unsigned char>(word.back()));
      });
      EXPECT_TRUE(leaves_a_number_out || std::ranges::all_of(left_out, may_be_left_out))
          << name << " is taken for " << gpu.name;
    }
  }
  EXPECT_GT(answered, 150);
}

// Drivers wrote "GeForce GTX 1080 Ti" until 2021 and "NVIDIA GeForce GTX 1080 Ti" since.
TEST(Gpus, AreFoundWithAndWithoutTheMakersNameThatNewerDriversWrite) {
  EXPECT_EQ(find_gpu_by_driver_name("GeForce GTX 1080 Ti"), &gpu_of("gtx-1080-ti"));
  EXPECT_EQ(find_gpu_by_driver_name("NVIDIA GeForce GTX 1080 Ti"), &gpu_of("gtx-1080-ti"));
  EXPECT_EQ(find_gpu_by_driver_name("A100-SXM4-40GB"), &gpu_of("a100-sxm4-40gb"));
}

// Orin is what the driver calls every Orin module, so no line has that name.
TEST(Gpus, AreNotFoundByANameThatTheTableLacksOrThatSeveralShare) {
  EXPECT_EQ(find_gpu_by_driver_name("Orin"), nullptr);
  EXPECT_EQ(find_gpu_by_driver_name("NVIDIA GeForce RTX 4090 Laptop GPU"), nullptr);
  EXPECT_EQ(find_gpu_by_driver_name(""), nullptr);
}

TEST(Gpus, ThatTheTableLacksAreRefusedWithTheNearestNames) {
  EXPECT_THAT(why_not("rtx-4091"), AllOf(HasSubstr("'rtx-4091'"), HasSubstr("nearest are rtx-4090, ")));
  EXPECT_THAT(why_not("a100"), AllOf(HasSubstr("a100-pcie-40gb (108 SMs, 1555 GB/s)"),
                                     HasSubstr("a100-sxm4-80gb (108 SMs, 2039 GB/s): name one of them")));
  EXPECT_THAT(why_not("Tesla V100"), AllOf(HasSubstr("v100-sxm2-32gb"), Not(HasSubstr("t4"))));
  EXPECT_THAT(why_not(""), HasSubstr("nearest are"));
  EXPECT_THAT(why_not("rtx"), HasSubstr("nearest are"));
}

TEST(Gpus, ThatAreNearestAreOfTheFamilyThatIsTypedAndOfOthersThereAreNone) {
  const auto nearest = [](const char* name, const char* names) {
    EXPECT_THAT(why_not(name), HasSubstr(fmt::format("called '{}'; the nearest are {}", name, names)));
  };
  nearest("a100x", "a100-pcie-40gb, a100-pcie-80gb, a100-sxm4-40gb, a100-sxm4-80gb, ");
  nearest("h800", "h100-nvl, h100-pcie-80gb, h100-sxm5-80gb, h20, h200;");
  nearest("b100", "b200, b300;");
  nearest("l20", "l4, l40, l40s;");
  nearest("5090d", "rtx-5090, ");
  for (const char* other : {"mi300x", "mi210", "rx7900xtx", "gaudi2"}) {
    EXPECT_THAT(why_not(other), AllOf(HasSubstr(fmt::format("called '{}', nor nearly so; ", other)),
                                      HasSubstr("for any other GPU of NVIDIA give its compute capability")));
  }
}

// Resident threads of the whole GPU = SMs x threads an SM, from NVIDIA's data sheets and the guides of the
// time.
TEST(Gpus, HoldAsManyThreadsAsTheirEnabledSmsDo) {
  const auto threads = [](std::string_view name) {
    const Gpu& gpu = gpu_of(name);
    return gpu.sm_count * limits_of(gpu.compute_capability).max_threads_per_sm();
  };
  EXPECT_EQ(threads("8800-gtx"), 12'288);
  EXPECT_EQ(threads("gtx-280"), 30'720);
  EXPECT_EQ(threads("k80"), 26'624);
  EXPECT_EQ(threads("p100-sxm2-16gb"), 114'688);
  EXPECT_EQ(threads("v100-sxm2-32gb"), 163'840);
  EXPECT_EQ(threads("t4"), 40'960);
  EXPECT_EQ(threads("a100-sxm4-80gb"), 221'184);
  EXPECT_EQ(threads("h100-pcie-80gb"), 233'472);
  EXPECT_EQ(threads("h200"), 270'336);
  EXPECT_EQ(threads("rtx-4090"), 196'608);
}

// Peak FP32 = 2 x lanes x SMs x clock. Sources: NVIDIA's data sheet (S), board specification (B),
// architecture whitepaper (W); multiply-adds alone for 1.x (M), whose data sheets count a multiplication
// more.
TEST(Gpus, HaveThePublishedPeakFloatingPointRate) {
  struct Published {
    const char* gpu;
    double gflops;
  };
  for (const auto& [name, gflops] : {
           Published{"8800-gtx", 345.6},         // M
           Published{"gtx-280", 622},            // M
           Published{"c2050", 1'030},            // S
           Published{"k40", 5'040},              // B
           Published{"k80", 8'730.0 / 2},        // B, of two GPUs
           Published{"m40", 6'840},              // W of the P100
           Published{"p100-pcie-16gb", 9'300},   // S
           Published{"p100-sxm2-16gb", 10'600},  // S
           Published{"v100-sxm2-16gb", 15'700},  // S
           Published{"t4", 8'100},               // S
           Published{"rtx-2080-ti", 13'450},     // W
           Published{"a100-sxm4-40gb", 19'500},  // S
           Published{"a30", 10'300},             // S
           Published{"a2", 4'500},               // S
           Published{"a10", 31'200},             // S
           Published{"a40", 37'400},             // S
           Published{"rtx-3090", 35'600},        // W
           Published{"rtx-4090", 82'600},        // W
           Published{"l4", 30'300},              // S
           Published{"l40s", 91'600},            // S
           Published{"h100-sxm5-80gb", 66'900},  // W
           Published{"h100-pcie-80gb", 51'200},  // W
           Published{"gh200-96gb", 67'000},      // S
           Published{"b200", 75'000},            // S of the HGX B200
           Published{"gb200", 80'000},           // S of the GB200 NVL72
           Published{"rtx-5090", 104'800},       // W
       }) {
    const Gpu& gpu = gpu_of(name);
    const double peak =
        2.0 * limits_of(gpu.compute_capability).fp32_lanes * gpu.sm_count * gpu.clock_mhz / 1000;
    EXPECT_NEAR(peak, gflops, 0.01 * gflops) << name;
  }
}

// DDR2 (0.4 Gbit/s a pin) to GDDR7 (30) and HBM (up to 8): exchanged columns would leave this range.
TEST(Gpus, MoveBetweenOneAndThirtyTwoGigabitsASecondOnEachPinOfTheirBus) {
  for (const Gpu& gpu : all_gpus()) {
    const double per_pin = gpu.bandwidth_gb_s * 8 / gpu.memory_bus_bits;
    EXPECT_GT(per_pin, 1) << gpu.name;
    EXPECT_LT(per_pin, gpu.memory_bus_bits > 1000 ? 10 : 32) << gpu.name;
    EXPECT_EQ(gpu.memory_bus_bits % 32, 0) << gpu.name;
  }
}

TEST(Gpus, HaveAnL2CacheForGlobalMemoryFromComputeCapability2On) {
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_EQ(gpu.l2_kb > 0, gpu.compute_capability.major >= 2) << gpu.name;
    EXPECT_EQ(gpu.l2_kb % 128, 0) << gpu.name;
  }
}

}  // namespace
}  // namespace occbench
