#include "occupancy/theory_advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  for (int i = 0; i < 20'000; ++i) {
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
  EXPECT_GT(helped, 5'000);
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
  EXPECT_THAT(sentences(advice).back(), HasSubstr("83.33 %"));
}

TEST(TheoryAdvice, NamesBlockSizesOnEitherSide) {
  const TheoryAdvice advice =
      advise_on_theory(limits_of({9, 0}), {{.block_threads = 768}, {.registers_per_thread = 32}});
  ASSERT_EQ(advice.highest.size(), 2);
  EXPECT_THAT((std::vector{advice.highest[0].change.to, advice.highest[1].change.to}),
              ElementsAre(512, 1024));
  EXPECT_THAT(sentences(advice)[0], HasSubstr("1.5 times as many blocks"));
  // Three blocks of 16 warps instead of two of 24: 25 % less time if a warp takes as long.
  EXPECT_EQ(most_time_saved_pct(advice, advice.highest[0]), 25);
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
  EXPECT_TRUE(tied.pair || tied.beyond);
  EXPECT_THAT(
      sentences(advise_on_theory(limits_of({9, 0}), {{.block_threads = 512}, {.registers_per_thread = 32}})),
      ElementsAre("Nothing to gain: 100 %."));
}

}  // namespace
}  // namespace occbench
