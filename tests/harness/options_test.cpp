#include "harness/options.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;

TEST(Options, GoogleBenchmarksFlagsPassThroughInOrder) {
  const Options options =
      parse_options({"--benchmark_filter=a", "--occ_suite=full", "--benchmark_repetitions=3"});
  EXPECT_EQ(options.suite, Suite::full);
  EXPECT_EQ(options.google_benchmark.size(), 3U);  // and a minimum time, since none was given
  EXPECT_EQ(options.google_benchmark[1], "--benchmark_filter=a");
  EXPECT_EQ(options.google_benchmark[2], "--benchmark_repetitions=3");
}

TEST(Options, WhatGoogleBenchmarkWouldBeginAnewWithEachCaseIsNotPassedOn) {
  const std::string out = testing::TempDir() + "out.json";
  const Options options =
      parse_options({"--benchmark_out=" + out, "--benchmark_out_format=console", "--benchmark_list_tests",
                     "--benchmark_display_aggregates_only=False", "--benchmark_format=json"});
  EXPECT_EQ(options.reports.out, out);
  EXPECT_EQ(options.reports.out_format, "console");
  EXPECT_EQ(options.reports.format, "json");
  EXPECT_FALSE(options.reports.display_aggregates_only);
  EXPECT_TRUE(options.list_tests);
  EXPECT_THAT(options.google_benchmark,
              ElementsAre(testing::StartsWith("--benchmark_min_time="), "--benchmark_format=json"));
}

TEST(Options, GoogleBenchmarksEnvironmentVariablesHoldUntilAFlagSaysOtherwise) {
  const std::string out = testing::TempDir() + "out.json";
  ::setenv("BENCHMARK_OUT", out.c_str(), 1);
  ::setenv("BENCHMARK_REPETITIONS", "3", 1);
  EXPECT_EQ(parse_options({}).reports.out, out);
  EXPECT_EQ(parse_options({}).reports.repetitions, 3);
  EXPECT_EQ(parse_options({"--benchmark_out="}).reports.out, "");
  ::unsetenv("BENCHMARK_OUT");
  ::unsetenv("BENCHMARK_REPETITIONS");
}

TEST(Options, AMinimumTimeIsTakenWithAndWithoutItsUnit) {
  const std::string with = parse_options({"--benchmark_min_time=0.5s"}).google_benchmark.at(0);
  const std::string without = parse_options({"--benchmark_min_time=0.5"}).google_benchmark.at(0);
  EXPECT_EQ(with, without);
}

TEST(Options, MetricsAreNamesBetweenCommasEachOnce) {
  EXPECT_THAT(parse_options({"--occ_metrics=b.sum,a.avg,b.sum"}).metrics, ElementsAre("b.sum", "a.avg"));
  EXPECT_TRUE(parse_options({}).metrics.empty());
}

TEST(Options, AShuffleHasASeedWhetherOneWasGivenOrNot) {
  EXPECT_EQ(parse_options({"--occ_shuffle=17"}).shuffle, 17U);
  EXPECT_TRUE(parse_options({"--occ_shuffle"}).shuffle);
  EXPECT_FALSE(parse_options({}).shuffle);
}

TEST(Options, WhatNeedsCountersIsWrongUseWhereTheyAreOff) {
  for (const char* argument : {"--occ_timeline=folder", "--occ_metrics=sm__inst_executed.sum"}) {
    EXPECT_THROW(parse_options({"--occ_counters=off", argument}), InputError) << argument;
  }
  EXPECT_TRUE(parse_options({"--occ_counters=off", "--occ_per_sm=folder"}).per_sm);
}

TEST(Options, WrongFlagsOfEitherKindAreWrongUse) {
  for (const char* argument :
       {"--occ_nothing", "--occ_suite=huge", "--occ_counters=maybe", "--occ_readings=0", "--occ_resume",
        "--occ_metrics=a,,b", "--occ_shuffle=yes", "--occ_shuffle=-1", "--benchmark_format=xml",
        "--benchmark_out_format=xml", "--benchmark_time_unit=h",
        "--benchmark_enable_random_interleaving=true", "--benchmark_out=/nowhere/at/all.json"}) {
    EXPECT_THROW(parse_options({argument}), InputError) << argument;
  }
}

}  // namespace
}  // namespace occbench
