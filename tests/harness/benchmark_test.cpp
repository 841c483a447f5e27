#include "harness/benchmark.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <re2/re2.h>
#include <sys/wait.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "harness/options.hpp"
#include "measure/counters.hpp"
#include "measure/cupti.hpp"
#include "measure/cupti_library.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"

namespace occbench {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

void plain_function(const float*, float*) {}

/// A kernel of the user's with an axis of numbers and one of words.
Experiment mine() {
  return benchmark("mine", "wide is fast", {{"tile", "16,32"}, {"layout", "rows"}}, [](const Point& at) {
    const std::int64_t tile = at.integer("tile");
    return Launchable{.function = kernel(plain_function),
                      .launch = {.block_threads = static_cast<int>(8 * tile), .grid_blocks = 1056},
                      .arguments = {random_values<float>(1024), zeros<float>(1024)},
                      .work = Work::equal(5000)};
  });
}

class OwnBenchmarks : public RunCases {
 protected:
  std::string listed(std::vector<std::string> arguments) {
    arguments.emplace_back("--occ_list");
    ::testing::internal::CaptureStdout();
    run(mine(), std::move(arguments));
    return ::testing::internal::GetCapturedStdout();
  }
};

TEST_F(OwnBenchmarks, HaveACaseForEachConfigurationOfTheirAxes) {
  const Experiment experiment = mine();
  const std::vector<Case> cases = experiment.cases(Planner(device_));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(case_name(cases[0]), "mine/compiled/tile=16");
  EXPECT_EQ(cases[1].launch.block_threads, 256);
  EXPECT_EQ(cases[1].suite, Suite::smoke);
  EXPECT_EQ(cases[1].work, Work::equal(5000));
}

TEST_F(OwnBenchmarks, NameTheirAxesAsTheyAreDeclared) {
  const Experiment capped = benchmark("capped", "few are enough", {{"registers", "24,64"}}, [](const Point&) {
    return Launchable{.function = kernel(plain_function), .launch = {.block_threads = 32, .grid_blocks = 1}};
  });
  EXPECT_EQ(case_name(capped.cases(Planner(device_)).front()), "capped/compiled/registers=24");
}

TEST_F(OwnBenchmarks, AreListedWithTheoryBeforeAnythingIsAllocated) {
  const std::string lines = listed({"--occ_suite=smoke"});
  EXPECT_THAT(lines, HasSubstr("\"case\":\"mine/compiled/tile=32\""));
  EXPECT_THAT(lines, HasSubstr("\"theoretical_pct\":100.0"));
}

TEST_F(OwnBenchmarks, AreSweptOverOtherValues) {
  const std::string lines =
      listed({"--occ_sweep=mine", "--occ_axis=tile=4:12:4", "--occ_axis=layout=rows,columns"});
  EXPECT_THAT(lines, HasSubstr("\"case\":\"mine/compiled/tile=12/layout=columns\""));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 6);
}

TEST(KernelInstances, AreChosenByTheValuesOfTheirTemplateArguments) {
  static const int places[] = {0, 1, 2, 3};
  const auto chosen = [&](std::int64_t side, std::int64_t most) {
    return instance(OneOf<16, 32>{side}, OneOf<24, 64>{most}, [](auto one, auto other) -> const void* {
      return &places[(one == 32 ? 2 : 0) + (other == 64 ? 1 : 0)];
    });
  };
  EXPECT_EQ(chosen(16, 24), &places[0]);
  EXPECT_EQ(chosen(16, 64), &places[1]);
  EXPECT_EQ(chosen(32, 64), &places[3]);
  EXPECT_EQ(message_of([&] { chosen(48, 24); }), "48: the kernel is compiled for 16, 32");
}

TEST(KernelArguments, HaveTheTypesOfTheirElements) {
  EXPECT_EQ(random_values<double>(3), (Argument{.type = ElementType::float64, .count = 3}));
  EXPECT_EQ(iota<unsigned char>(3),
            (Argument{.type = ElementType::uint8, .count = 3, .contents = Contents::iota}));
  EXPECT_EQ(value(5L), (Argument{.type = ElementType::int64, .value = 5}));
}

// Google Benchmark's flags and reports, with our numbers in them.
int occurrences(std::string text, const std::string& pattern) {
  return RE2::GlobalReplace(&text, pattern, "");
}

class GoogleBenchmarks : public RunCases {
 protected:
  /// What a run prints on standard output.
  std::string console(const Experiment& of, std::vector<std::string> arguments = {}) {
    testing::internal::CaptureStdout();
    run(of, std::move(arguments));
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout();
  }

  fs::path out() const {
    return folder_ / "out";
  }

  nlohmann::json report() const {
    std::ifstream stream(out());
    return nlohmann::json::parse(stream);
  }
};

TEST_F(GoogleBenchmarks, ConsoleHasOneHeaderAndALineACaseWithTheThreeOccupancies) {
  const std::string text = console(experiment_of({64, 256}));
  EXPECT_EQ(occurrences(text, "Benchmark +Time +CPU +Iterations"), 1) << text;
  for (const char* threads : {"64", "256"}) {
    EXPECT_THAT(text, ContainsRegex(std::string("fake_experiment/fake/plain/block_threads=") + threads +
                                    "/manual_time +200 us .*achieved_pct=51 predicted_pct=[0-9.]+ "
                                    "theoretical_pct=100 time_spread_pct=0"));
  }
}

TEST_F(GoogleBenchmarks, JsonHasEveryCaseOnceAndTheContextOnce) {
  run(experiment_of({64, kFailing, 256}), {"--benchmark_out=" + out().string()});
  const nlohmann::json json = report();
  EXPECT_TRUE(json.contains("context"));
  ASSERT_EQ(json.at("benchmarks").size(), 3U);
  EXPECT_EQ(json["benchmarks"][0].at("achieved_pct"), 51);
  EXPECT_EQ(json["benchmarks"][0].at("family_index"), 0);
  EXPECT_EQ(json["benchmarks"][2].at("family_index"), 2);
  EXPECT_THAT(json["benchmarks"][1].at("error_message").get<std::string>(), HasSubstr("LaunchFailure"));
}

TEST_F(GoogleBenchmarks, RepetitionsHaveALineEachAndTheirAggregates) {
  const std::string text = console(experiment_of({64}), {"--benchmark_repetitions=3"});
  EXPECT_EQ(occurrences(text, "manual_time +200 us"), 3) << text;
  for (const char* aggregate : {"_mean", "_median", "_stddev"}) EXPECT_THAT(text, HasSubstr(aggregate));
}

TEST_F(GoogleBenchmarks, AggregatesAloneOnTheConsoleLeaveEveryRunInTheFile) {
  const std::string text =
      console(experiment_of({64}), {"--benchmark_repetitions=3", "--benchmark_display_aggregates_only=true",
                                    "--benchmark_out=" + out().string()});
  EXPECT_EQ(occurrences(text, "manual_time +200 us"), 0) << text;
  EXPECT_THAT(text, HasSubstr("_median"));
  const nlohmann::json benchmarks = report().at("benchmarks");
  EXPECT_EQ(
      std::ranges::count(benchmarks, "iteration",
                         [](const nlohmann::json& run) { return run.at("run_type").get<std::string>(); }),
      3);
}

TEST_F(GoogleBenchmarks, AggregatesAloneInEveryReportLeaveTheRowAllTimes) {
  run(experiment_of({64}), {"--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true",
                            "--benchmark_min_time=0.02", "--benchmark_out=" + out().string()});
  const nlohmann::json benchmarks = report().at("benchmarks");
  for (const nlohmann::json& each : benchmarks) EXPECT_EQ(each.at("run_type"), "aggregate");
  EXPECT_GT(read_rows(csv()).at(0).repetitions.value(), 3 * 100);
}

/// In a process of its own: Google Benchmark makes the reporter of the console once.
TEST(GoogleBenchmarksConsole, IsJsonWhereThatIsAskedFor) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out.json";
  const std::string command = fmt::format(
      "{} --benchmark_format=json --benchmark_filter=threads=176 --benchmark_min_time=0.001 > {} 2> {}/log",
      OCC_BENCH_FAKE, out.string(), folder.path().string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  const nlohmann::json benchmarks = nlohmann::json::parse(read_text(out)).at("benchmarks");
  ASSERT_EQ(benchmarks.size(), 1U);
  EXPECT_EQ(benchmarks[0].at("block_threads"), 176);
}

/// A limit on the size of files is a full disk to it.
TEST(GoogleBenchmarksFile, StaysWhereTheDiskIsFullAtTheEnd) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out.json";
  replace_text(out, "old");
  const std::string command = fmt::format(
      "trap '' XFSZ; ulimit -f 8; {} --benchmark_filter=threads=176 --benchmark_min_time=0.001 "
      "--benchmark_repetitions=40 --benchmark_out={} > /dev/null 2> {}/log",
      OCC_BENCH_FAKE, out.string(), folder.path().string());
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitStatus::usage));
  EXPECT_THAT(read_text(folder.path() / "log"), HasSubstr("File too large"));
  EXPECT_EQ(read_text(out), "old");
  fs::remove(folder.path() / "log");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "no temporary file is left";
}

TEST_F(GoogleBenchmarks, FileHasTheFormatThatIsAskedFor) {
  console(experiment_of({64}), {"--benchmark_format=console", "--benchmark_out=" + out().string(),
                                "--benchmark_out_format=console"});
  EXPECT_THAT(read_text(out()), ContainsRegex("manual_time +200 us .*achieved_pct=51"));
  console(experiment_of({64}), {"--benchmark_out=" + out().string(), "--benchmark_out_format=csv"});
  EXPECT_THAT(read_text(out()), HasSubstr("name,iterations,real_time"));
  EXPECT_THAT(read_text(out()), Not(HasSubstr("achieved_pct")));
}

TEST_F(GoogleBenchmarks, TheListOfItsTestsMeasuresNothing) {
  const std::string text = console(experiment_of({64, 256}), {"--benchmark_list_tests=true"});
  EXPECT_EQ(text,
            "fake_experiment/fake/plain/block_threads=64/manual_time\n"
            "fake_experiment/fake/plain/block_threads=256/manual_time\n");
  EXPECT_EQ(instruments_.launches, 0);
}

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

TEST(Options, TheFullSuiteReadsHalfAsManyLaunchesUnlessAskedForMore) {
  EXPECT_EQ(readings_of(parse_options({"--occ_suite=smoke"})), 16);
  EXPECT_EQ(readings_of(parse_options({})), 16);
  EXPECT_EQ(readings_of(parse_options({"--occ_suite=full"})), 8);
  EXPECT_EQ(readings_of(parse_options({"--occ_suite=full", "--occ_readings=32"})), 32);
}

TEST(Options, WrongFlagsOfEitherKindAreWrongUse) {
  for (const char* argument : {"--occ_nothing", "--occ_suite=huge", "--occ_counters=maybe",
                               "--occ_readings=0", "--occ_resume", "--occ_metrics=a,,b", "--occ_shuffle=yes",
                               "--occ_shuffle=-1", "--benchmark_format=xml", "--benchmark_out_format=xml",
                               "--benchmark_time_unit=h", "--benchmark_enable_random_interleaving=true"}) {
    EXPECT_THROW(parse_options({argument}), InputError) << argument;
  }
}

std::vector<std::string> chips() {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  EXPECT_EQ(OCC_CUPTI(cuptiProfilerHostGetSupportedChips)(&params), CUPTI_SUCCESS);
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

std::vector<std::string> metrics_read(CounterRead when) {
  std::vector<std::string> metrics;
  for (const Column& column : columns()) {
    if (!column.counter || column.counter->read != when) continue;
    for (const std::string_view metric : split(column.counter->metric, '+')) metrics.emplace_back(metric);
  }
  return metrics;
}

TEST(TheSuitesMetrics, AreThoseThatTheirColumnsSayAreRead) {
  std::vector<std::string> before;
  for (const CounterRead when : {CounterRead::always, CounterRead::every_case, CounterRead::full_suite}) {
    const std::vector<std::string> read = counters_read(when);
    const std::vector<std::string> of_columns = metrics_read(when);
    ASSERT_FALSE(of_columns.empty());
    EXPECT_THAT(read, IsSupersetOf(before));
    EXPECT_THAT(read, IsSupersetOf(of_columns));
    for (const std::string& metric : of_columns) EXPECT_THAT(before, Not(Contains(metric)));
    before = read;
  }
}

/// More passes would mean that a reading of one column and of the next are of different launches. In the full
/// suite, which takes two to four, each pass makes the launches once more.
TEST(TheSuitesMetrics, FitOnePassOnEveryChipFromTuringOnThatCuptiKnows) {
  int compared = 0;
  for (const std::string& chip : chips()) {
    if (chip.starts_with("GV")) continue;
    const MetricCatalog catalog(chip);
    // An integrated GPU has no memory of its own that could be counted.
    std::vector<std::string> full;
    for (const std::string& metric : counters_read(CounterRead::full_suite)) {
      const bool known = catalog.has(metric);
      if (known) full.push_back(metric);
      EXPECT_TRUE(known || metric.starts_with("dram__")) << chip << ": " << metric;
    }
    const std::vector<std::string> of_each = counters_read(CounterRead::every_case);
    EXPECT_THAT(full, IsSupersetOf(of_each)) << chip;
    EXPECT_EQ(catalog.passes(of_each), 1U) << chip;
    EXPECT_LE(catalog.passes(full), chip == "GH100" ? 3U : 4U) << chip;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace occbench
