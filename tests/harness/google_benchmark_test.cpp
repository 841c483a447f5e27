#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "files/output.hpp"

// Google Benchmark's flags and reports, with our numbers in them.
namespace occbench {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::ptrdiff_t occurrences(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator());
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

}  // namespace
}  // namespace occbench
