#include "simulate/work.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "predict/inferred_work.hpp"
#include "predict/parallel.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::int64_t> all_cycles(std::string_view text, std::int64_t count) {
  const Work work = parse_work(text);
  std::vector<std::int64_t> cycles;
  for (std::int64_t i = 0; i < count; ++i) cycles.push_back(work.cycles_of(i, count));
  return cycles;
}

double mean(const std::vector<std::int64_t>& cycles) {
  return static_cast<double>(std::accumulate(cycles.begin(), cycles.end(), std::int64_t{0})) /
         static_cast<double>(cycles.size());
}

TEST(Work, CanonicalStringsSurviveTheRoundTrip) {
  for (const char* text : {
           "equal:200000",
           "linear:20000:0.2:1.8",
           "uniform:200000:0.5:1.5:seed=7",
           "lognormal:1000.5:0.75:seed=18446744073709551615",
           "exponential:8000:8:seed=0",
           "bimodal:8000:0.1:16:seed=3",
           "every:20000:8:4",
           "last:20000:132:2.5",
           "warp/uniform:200000:0.5:1.5:seed=7",
           "warp/every:20000:8:16:issue=5000",
           "equal:80000:issue=20000",
           "equal:1000000000000:bytes=4096",
           "uniform:80000:0.5:1.5:seed=7:issue=20000:bytes=65536",
           "equal:17000:issue=1000:pipe=8000:bytes=512",
           "equal:50000:issue=45000:lockstep=240000",
           "equal:50000:issue=50000:pipe=25000:bytes=64:lockstep=0",
       }) {
    EXPECT_EQ(to_string(parse_work(text)), text);
  }
}

TEST(Work, OtherWritingsOfTheSameWorkBecomeCanonical) {
  EXPECT_EQ(to_string(parse_work("equal:2e5")), "equal:200000");
  EXPECT_EQ(to_string(parse_work("uniform:1000:0.50:1.5")), "uniform:1000:0.5:1.5:seed=1");
  EXPECT_EQ(to_string(parse_work("linear:1000:-0:1:issue=0")), "linear:1000:0:1");
  EXPECT_EQ(to_string(Work::equal(200'000)), "equal:200000");
}

TEST(Work, FormsWithoutChanceAreWhatTheySay) {
  EXPECT_THAT(all_cycles("equal:700", 3), ElementsAre(700, 700, 700));
  EXPECT_THAT(all_cycles("linear:1000:0.2:1.8", 5), ElementsAre(200, 600, 1000, 1400, 1800));
  EXPECT_THAT(all_cycles("linear:1000:0.2:1.8", 1), ElementsAre(200));
  EXPECT_THAT(all_cycles("every:100:3:4", 7), ElementsAre(400, 100, 100, 400, 100, 100, 400));
  EXPECT_THAT(all_cycles("last:100:2:1.5", 4), ElementsAre(100, 100, 150, 150));
  EXPECT_THAT(all_cycles("last:100:9:1.5", 2), ElementsAre(150, 150));
}

TEST(Work, EveryUnitTakesAtLeastOneCycleAndNoneOverflows) {
  EXPECT_THAT(all_cycles("every:100:1:0", 2), ElementsAre(1, 1));
  EXPECT_THAT(all_cycles("every:1e12:1:1e6", 1), ElementsAre(std::int64_t{1'000'000'000'000'000}));
}

// The integers themselves: a change of compiler, library or machine must not change them. The expected values
// were computed apart from this code, with Python's integers and 60-digit decimals.
TEST(Work, DrawnCyclesAreTheSameOnEveryMachine) {
  EXPECT_THAT(all_cycles("uniform:200000:0.5:1.5:seed=7", 4), ElementsAre(244302, 229941, 209875, 220847));
  EXPECT_THAT(all_cycles("exponential:200000:8:seed=7", 4), ElementsAre(65282, 86248, 119795, 100758));
  EXPECT_THAT(all_cycles("lognormal:200000:0.5:seed=7", 4), ElementsAre(172808, 100038, 361418, 100629));
  EXPECT_THAT(all_cycles("bimodal:200000:0.5:3:seed=7", 8),
              ElementsAre(200000, 200000, 200000, 200000, 600000, 600000, 200000, 200000));
}

TEST(Work, DrawnFactorsHaveTheDistributionTheyAreNamedFor) {
  constexpr std::int64_t count = 100'000;
  EXPECT_NEAR(mean(all_cycles("uniform:100000:0.5:1.5:seed=3", count)), 100'000, 300);
  EXPECT_NEAR(mean(all_cycles("exponential:100000:50:seed=3", count)), 100'000, 1000);
  EXPECT_NEAR(mean(all_cycles("lognormal:100000:0.5:seed=3", count)), 100'000, 600);
  EXPECT_NEAR(mean(all_cycles("bimodal:100000:0.25:5:seed=3", count)), 200'000, 2000);
  const auto uniform = all_cycles("uniform:100000:0.5:1.5:seed=3", count);
  EXPECT_NEAR(static_cast<double>(*std::ranges::min_element(uniform)), 50'000, 20);
  EXPECT_NEAR(static_cast<double>(*std::ranges::max_element(uniform)), 150'000, 20);
  const auto exponential = all_cycles("exponential:100000:2:seed=3", count);
  EXPECT_EQ(*std::ranges::max_element(exponential), 200'000);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(exponential, 200'000)) / count, std::exp(-2.0), 0.004);
}

TEST(Work, SeedsGiveDifferentDrawsAndOrderDoesNotMatter) {
  EXPECT_NE(all_cycles("uniform:200000:0.5:1.5:seed=7", 64), all_cycles("uniform:200000:0.5:1.5:seed=8", 64));
  const Work work = parse_work("lognormal:200000:0.5:seed=7");
  const std::int64_t last_first = work.cycles_of(63, 64);
  EXPECT_EQ(all_cycles("lognormal:200000:0.5:seed=7", 64).back(), last_first);
}

TEST(Work, UnitsAreBlocksOrWarps) {
  const Work by_block = parse_work("linear:1000:1:4");
  const Work by_warp = parse_work("warp/linear:1000:1:4");
  EXPECT_EQ(by_block.cycles_of_warp(1, 0, 2, 2), 4000);
  EXPECT_EQ(by_block.cycles_of_warp(1, 1, 2, 2), 4000);
  EXPECT_EQ(by_warp.cycles_of_warp(1, 0, 2, 2), 3000);
  EXPECT_EQ(by_warp.cycles_of_warp(1, 1, 2, 2), 4000);
  // One slow warp in each block of eight.
  const Work slow = parse_work("warp/every:100:8:16");
  for (int warp = 0; warp < 8; ++warp) {
    EXPECT_EQ(slow.cycles_of_warp(5, warp, 9, 8), warp == 0 ? 1600 : 100);
  }
}

TEST(Work, ScaledWorkHasTheSameRatesAndNoLessThanACycle) {
  const Work work = parse_work("uniform:80000:0.5:1.5:seed=7:issue=20000:pipe=40000:bytes=65536");
  EXPECT_EQ(to_string(work.scaled(0.25)), "uniform:20000:0.5:1.5:seed=7:issue=5000:pipe=10000:bytes=16384");
  EXPECT_EQ(work.scaled(0.25).rates(), work.rates());
  EXPECT_EQ(work.scaled(1e-9).cycles, 1);
  const Work lockstep = parse_work("equal:80000:issue=80000:lockstep=240000");
  EXPECT_EQ(to_string(lockstep.scaled(2)), "equal:160000:issue=160000:lockstep=240000");
  EXPECT_EQ(parse_work(to_string(lockstep.scaled(1e-9))), lockstep.scaled(1e-9));
}

TEST(Work, NamedFieldsMayStandInAnyOrder) {
  const Work work = parse_work("uniform:100:0.5:1.5:poll=2.5:bytes=64:seed=7:issue=20");
  EXPECT_EQ(to_string(work), "uniform:100:0.5:1.5:seed=7:issue=20:bytes=64:poll=2.5");
  EXPECT_EQ(parse_work(to_string(work)), work);
}

TEST(Work, ComplaintsNameThePartAndItsPlace) {
  const auto complains = [](std::string_view text, std::string_view place, std::string_view about) {
    EXPECT_THAT([&] { parse_work(text); },
                ThrowsMessage<InputError>(testing::AllOf(HasSubstr(place), HasSubstr(about))))
        << text;
  };
  complains("", "character 1:", "is not a distribution");
  complains("uniforn:1:2:3", "character 1:", "'uniforn'");
  complains("warp/", "character 6:", "is not a distribution");
  complains("equal", "character 6:", "CYCLES is missing; write equal:CYCLES");
  complains("equal:", "character 7:", "CYCLES must be a number from 1 to 1000000000000, not ''");
  complains("equal:many", "character 7:", "'many'");
  complains("equal:0", "character 7:", "from 1 to 1000000000000");
  complains("equal:-5", "character 7:", "not '-5'");
  complains("equal:nan", "character 7:", "not 'nan'");
  complains("equal:inf", "character 7:", "not 'inf'");
  complains("equal:100:5", "character 11:", "'5' does not belong here");
  complains("equal:100:", "character 11:", "does not belong here");
  complains("equal:100:seed=1", "character 11:", "does not belong here");
  complains("uniform:100:0.5", "character 16:", "HIGH is missing; write uniform:CYCLES:LOW:HIGH:seed=N");
  complains("uniform:100:1.5:0.5", "character 17:", "HIGH is below LOW");
  complains("uniform:100:0.5:1.5:seed=-1", "character 26:", "seed");
  complains("uniform:100:0.5:1.5:seed=7x", "character 26:", "'7x'");
  complains("uniform:100:0.5:1.5:sed=7", "character 21:", "'sed=7'");
  complains("bimodal:100:1.5:2", "character 13:", "FRACTION");
  complains("every:100:2.5:2", "character 11:", "whole number");
  complains("every:100:0:2", "character 11:", "from 1");
  complains("lognormal:100:5", "character 15:", "SIGMA");
  complains("equal:100:issue=101", "character 17:", "at most 100");
  complains("equal:100:pipe=101", "character 16:", "at most 100");
  complains("equal:100:pipe=1:flops=1",
            "character 18:", "write equal:CYCLES[:issue=N][:pipe=N][:bytes=N][:lockstep=N][:poll=N]");
  complains("equal:100:bytes=-1", "character 17:", "bytes");
  complains("equal:100:bytes=1:bytes=2", "character 19:", "bytes is given twice");
  complains("equal:100:poll=-1", "character 16:", "poll must be a number from 0");
  complains("equal:100:issue=100:lockstep=-1", "character 30:", "lockstep must be a number from 0");
  complains("equal:100:issue=100:lockstep=long", "character 30:", "'long'");
  complains("equal:100:issue=0:lockstep=5", "character 28:", "issue must be above 0");
  complains("equal:100:issue=90:pipe=95:lockstep=5", "character 37:", "no less than pipe");
  complains("equal:100:lockstep=5", "character 20:", "issue must be above 0");
}

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
  return infer_work({launch(grid_blocks), kUsage, limits_of({9, 0}), chosen(find_profile("h200"))}, observed);
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

/// 20,000 blocks take 22,738 cycles to be given out.
TEST(InferredWork, IsRefusedWhereBlocksThatDoNothingTakeFarLonger) {
  EXPECT_THAT(
      message_of([] { inferred(20000, {.elapsed_cycles = 9900}); }),
      testing::MatchesRegex("no work can be inferred: blocks that do nothing take 22,[0-9]+ cycles, and "
                            "9,900 were read; check grid, time and clock"));
  EXPECT_THAT(message_of([] { inferred(20000, {.cycles_active_mean = 900}); }),
              testing::HasSubstr("and 900 were read"));
  EXPECT_TRUE(inferred(20000, {.elapsed_cycles = 20000}));
}

TEST(InferredWork, OfTheLargestGridTakesItsTime) {
  const auto found = inferred(2147483647, {.elapsed_cycles = 1e12});
  ASSERT_TRUE(found);
  // Blocks of 200 cycles are launched as fast as the device can, 1,056 at once.
  EXPECT_NEAR(found->work.cycles, 1e12 / (2147483647.0 / 1056), 0.1 * 1e12 / (2147483647.0 / 1056));
}

TEST(Durations, AreOneNumberALine) {
  EXPECT_THAT(parse_durations("100\n200\r\n 3.5e2 \n", "f", false).cycles, ElementsAre(100, 200, 350));
  EXPECT_THAT(parse_durations("7", "f", false).cycles, ElementsAre(7));
}

TEST(Durations, ComplaintsNameFileAndLine) {
  const auto complains = [](std::string_view text, std::string_view about) {
    EXPECT_THAT([&] { parse_durations(text, "cycles.txt", false); },
                ThrowsMessage<InputError>(HasSubstr(std::string(about))))
        << text;
  };
  complains("", "cycles.txt:1: no durations");
  complains("1\n\n3\n", "cycles.txt:2: '' is not a number");
  complains("1\n2\nthree\n", "cycles.txt:3: 'three'");
  complains("1\n-2\n", "cycles.txt:2: -2 cycles are out of range");
  complains("0\n", "cycles.txt:1: 0 cycles are out of range: 1 to");
  complains("0.4\n", "cycles.txt:1: 0.4 cycles are out of range: 1 to 1000000000000000, once rounded");
  complains("1\nnan\n", "cycles.txt:2: 'nan' is not a number");
  complains("1e16\n", "cycles.txt:1: 1e16");
  complains("1 2\n", "cycles.txt:1: '1 2'");
}

TEST(Durations, TooFewOrTooManyForTheGridAreRefusedWithTheLine) {
  const auto complains = [](std::string_view text, bool per_warp, std::string_view about) {
    EXPECT_THAT([&] { Tasks(parse_durations(text, "f", per_warp), 3, 2); },
                ThrowsMessage<InputError>(HasSubstr(std::string(about))));
  };
  complains("1\n2\n", false, "f:3: 2 durations for a grid of 3 blocks");
  complains("1\n2\n3\n4\n", false, "f:4: 4 durations for a grid of 3 blocks");
  complains("1\n2\n3\n", true, "f:4: 3 durations for a grid of 6 warps");
  EXPECT_NO_THROW(Tasks(parse_durations("1\n2\n3\n4\n5\n6\n", "f", true), 3, 2));
}

TEST(Tasks, OneNumberServesAll) {
  const Tasks tasks(parse_durations("500\n", "f", true), 3, 2);
  EXPECT_TRUE(tasks.all_equal());
  EXPECT_EQ(tasks.warp_cycles(2, 1), 500);
}

TEST(Tasks, EvenedOutKeepTheirTotal) {
  const Tasks tasks({{100, 200, 300, 600}, true}, 2, 2);
  EXPECT_TRUE(tasks.differ_within_blocks());
  EXPECT_EQ(tasks.mean_cycles(), 300);
  EXPECT_EQ(tasks.block_cycles(0), 200);  // until its longest warp is done

  const Tasks within = tasks.even_within_blocks();
  EXPECT_FALSE(within.differ_within_blocks());
  EXPECT_EQ(within.block_cycles(0), 150);
  EXPECT_EQ(within.warp_cycles(1, 0), 450);

  EXPECT_EQ(tasks.longest_block_cycles(), 600);

  const Tasks everywhere = tasks.even_everywhere().stretched(10);
  EXPECT_TRUE(everywhere.all_equal());
  EXPECT_EQ(everywhere.warp_cycles(1, 0), 3000);
}

TEST(Tasks, KnowWhetherTheLongestBlocksBeginFirst) {
  const auto is_longest_first = [](std::vector<std::int64_t> cycles, bool per_warp = false) {
    const auto units = static_cast<std::int64_t>(cycles.size());
    return Tasks(Durations{.cycles = std::move(cycles), .per_warp = per_warp}, per_warp ? units / 2 : units,
                 2)
        .is_longest_first();
  };
  EXPECT_TRUE(is_longest_first({5, 4, 4, 1}));
  EXPECT_TRUE(is_longest_first({1, 5, 4, 3}, true)) << "of a block the longest warp counts";
  EXPECT_FALSE(is_longest_first({5, 4, 5, 1}));
  EXPECT_FALSE(is_longest_first({4, 4, 4})) << "none is the longest";
  for (const char* text : {"linear:20000:1.8:0.2", "warp/linear:20000:1.8:0.2", "last:20000:3:0.5"})
    EXPECT_TRUE(Tasks(parse_work(text), 8, 2).is_longest_first()) << text;
  for (const char* text : {"equal:20000", "linear:20000:0.2:1.8", "last:20000:3:8", "lognormal:20000:1"})
    EXPECT_FALSE(Tasks(parse_work(text), 8, 2).is_longest_first()) << text;
}

TEST(Tasks, RatesAreThoseOfAWarpAlone) {
  const Tasks tasks(parse_work("every:80000:2:3:issue=20000:pipe=60000:bytes=40000"), 4, 8);
  EXPECT_EQ(tasks.rates(), (Rates{.issue = 0.25, .pipe = 0.75, .bytes = 0.5}));
  EXPECT_TRUE(tasks.contends());
  EXPECT_FALSE(tasks.alone().contends());
}

TEST(Parallel, CallsWithEachNumberOnce) {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    for_each_parallel(count, [&](std::size_t i) { ++calls[i]; });
    for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1);
  }
}

TEST(Parallel, ThrowsWhatACallThrowsAndBeginsNoOther) {
  std::atomic<int> calls = 0;
  const auto fail = [&](std::size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("the fourth");
  };
  EXPECT_THROW(for_each_parallel(1'000'000, fail), std::runtime_error);
  EXPECT_LT(calls, 1'000'000);
}

}  // namespace
}  // namespace occbench
