#include "gate/outputs.hpp"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gate/compare.hpp"
#include "made_up_run.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

Comparison compared(int cases, const std::function<void(MadeUpRun&)>& change) {
  const MadeUpRun baseline = made_up_run(cases);
  return compare(baseline.run("before.csv"), baseline.with(change).run("after.csv"), {});
}

Comparison one_regression() {
  return compared(4, [](MadeUpRun& run) { injected::two_more_registers(run.rows[1]); });
}

Comparison regressions(int count) {
  return compared(count, [](MadeUpRun& run) {
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      run.rows[i].registers_per_thread = 33;
      *run.rows[i].theoretical_pct -= 25 + 0.01 * static_cast<double>(i);
    }
  });
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(GateOutputs, ARunIsDatedByItsFirstRowWhereverThatIsInTheComparison) {
  const Comparison comparison =
      compared(4, [](MadeUpRun& run) { run.rows[2].recorded_at = "2026-03-01T11:59:00Z"; });
  EXPECT_THAT(comparison_table(comparison), HasSubstr("commit 0123456789ab, 2026-03-01T11:59:00Z"));
}

TEST(GateOutputs, TheTableSaysWhatWasComparedWhatWasFoundAndWhatCouldHaveBeen) {
  const std::string text = comparison_table(one_regression());
  EXPECT_THAT(text,
              HasSubstr("before.csv\n           NVIDIA H200, commit 0123456789ab, 2026-03-01T12:00:00Z"));
  EXPECT_THAT(
      text, HasSubstr("regression  waves/spin/plain/number=1\n            registers_per_thread 31 -> 33; "));
  EXPECT_THAT(text, HasSubstr("\nregression: 4 cases, 1 regression, 3 pass\n"));
  EXPECT_THAT(text, HasSubstr("Smallest regression that would have been found: one more register"));
  EXPECT_THAT(text, HasSubstr("1 points of achieved occupancy at the median case"));
}

TEST(GateOutputs, TheWorstComesFirst) {
  const Comparison comparison = compared(4, [](MadeUpRun& run) {
    run.rows[0].counters_status = "denied";
    run.rows[0].achieved_pct.reset();
    *run.rows[1].achieved_pct -= 2;
    *run.rows[1].achieved_elapsed_pct -= 2;
    *run.rows[2].achieved_pct -= 30;
    *run.rows[2].achieved_elapsed_pct -= 30;
    injected::two_more_registers(run.rows[3]);
  });
  std::vector<std::string> order;
  for (const ComparedCase& one : comparison.cases) order.push_back(one.name.substr(one.name.size() - 1));
  EXPECT_EQ(order, (std::vector<std::string>{"3", "2", "1", "0"}));
}

/// Of four cases: one is skipped in both runs, one is new.
Comparison with_two_not_compared() {
  const auto skip_first = [](MadeUpRun& run) {
    run.rows[0].time_status = "skipped";
    run.rows[0].note = "one block too many";
  };
  const MadeUpRun candidate = made_up_run(4).with(skip_first);
  return compare(made_up_run(3).with(skip_first).run(), candidate.run(), {});
}

TEST(GateOutputs, ACaseThatWasNotComparedIsNotCountedAmongThoseThatPass) {
  EXPECT_EQ(headline(with_two_not_compared()), "pass: 4 cases, 2 pass, 2 not compared");
}

TEST(GateOutputs, WhatIsSaidOfManyCasesIsSaidOnce) {
  const Comparison comparison = compared(50, [](MadeUpRun& run) {
    for (Row& row : run.rows) row.gpu = "NVIDIA A100";
  });
  const std::string text = comparison_table(comparison);
  EXPECT_EQ(count(text, "cannot be compared"), 1u);
  EXPECT_THAT(text, HasSubstr("and 49 more"));
}

TEST(GateOutputs, AThousandRegressionsStayReadable) {
  const Comparison comparison = regressions(1000);
  EXPECT_EQ(comparison.count(Verdict::regression), 1000u);
  EXPECT_LT(count(comparison_table(comparison), "\n"), 100u);
  EXPECT_THAT(comparison_table(comparison), HasSubstr("... and 960 more (formats json and junit have all)"));
  EXPECT_THAT(comparison_table(comparison), HasSubstr("regression: 1000 cases, 1000 regression"));
  // GitHub takes a summary of at most 1 MiB, and shows ten errors a step.
  EXPECT_LT(comparison_markdown(comparison).size(), std::size_t{1} << 20);
  EXPECT_EQ(count(comparison_annotations(comparison), "::error "), 10u);
  EXPECT_EQ(count(comparison_junit(comparison), "<failure "), 1000u);
  EXPECT_EQ(nlohmann::json::parse(comparison_json(comparison))["cases"].size(), 1000u);
}

TEST(GateOutputs, MarkdownKeepsATableWhateverANameHolds) {
  const std::string text = comparison_markdown(
      compared(1, [](MadeUpRun& run) { run.rows[0].case_ = "a|b\n<script>`x`</script>"; }));
  EXPECT_THAT(text, HasSubstr("a\\|b &lt;script&gt;&#96;x&#96;&lt;/script&gt;"));
  EXPECT_THAT(text, testing::StartsWith("## occbench gate: no verdict: 2 cases"));
}

TEST(GateOutputs, AnnotationsAreEscapedAsTheRunnerReadsThem) {
  const std::string text =
      comparison_annotations(compared(2, [](MadeUpRun& run) { run.rows[0].work = "100%\nof,it:all"; }));
  EXPECT_THAT(text, HasSubstr("::error title=occupancy regression%3A block_size/spin/plain/number=0::"
                              "work equal:200000 -> 100%25%0Aof,it:all"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, testing::StartsWith("::"));
}

TEST(GateOutputs, AnnotationsOfAPassAreOneNotice) {
  EXPECT_THAT(
      comparison_annotations(compared(2, [](MadeUpRun&) {})),
      testing::StartsWith("::notice title=occupancy gate::pass: 2 cases, 2 pass. Smallest regression"));
}

TEST(GateOutputs, JunitTellsFailuresFromWhatCouldNotBeTested) {
  const std::string text = comparison_junit(compared(4, [](MadeUpRun& run) {
    injected::two_more_registers(run.rows[0]);
    run.rows[1].gpu = "a \"<&>\" GPU\x01\xef\xbf\xbe\xff\xed\xa0\x80 \xc3\xa9";
  }));
  EXPECT_THAT(text,
              HasSubstr(R"(<testsuite name="block_size" tests="2" failures="1" errors="0" skipped="0">)"));
  EXPECT_THAT(text, HasSubstr(R"(<testsuite name="waves" tests="2" failures="0" errors="1" skipped="0">)"));
  // Some readers show the attribute, some the text.
  EXPECT_THAT(text, HasSubstr(R"(<failure type="regression" message="registers_per_thread 31 -&gt; 33">)"
                              "registers_per_thread 31 -&gt; 33; grid_blocks 2112 -&gt; 1584; "));
  EXPECT_THAT(text, HasSubstr("gpu NVIDIA H200 -&gt; a &quot;&lt;&amp;&gt;&quot; GPU?????? \xc3\xa9"));
  EXPECT_EQ(count(text, "<testcase "), 4u);
}

TEST(GateOutputs, JunitSkipsWhatWasNotCompared) {
  const std::string text = comparison_junit(with_two_not_compared());
  EXPECT_THAT(text,
              HasSubstr(R"(<testsuite name="block_size" tests="2" failures="0" errors="0" skipped="1">)"));
  EXPECT_THAT(text, HasSubstr(R"(<skipped message="skipped in both: one block too many"/>)"));
  EXPECT_THAT(text, HasSubstr(R"(<skipped message="new: the baseline has no such case"/>)"));
}

TEST(GateOutputs, JunitHasATestForWhatConcernsTheWholeRun) {
  const RecordedRun empty = parse_run("", "", "empty.csv");
  const std::string text = comparison_junit(compare(empty, empty, {}));
  EXPECT_THAT(text, HasSubstr(R"(<testsuite name="gate" tests="1" failures="0" errors="1" skipped="0">)"));
  EXPECT_THAT(text, HasSubstr("nothing of empty.csv could be compared"));
}

TEST(GateOutputs, JsonHasEveryFinding) {
  const auto json = nlohmann::json::parse(comparison_json(one_regression()));
  EXPECT_EQ(json["verdict"], "regression");
  EXPECT_EQ(json["cases"].size(), 4u);
  const auto& finding = json["cases"][0]["findings"][0];
  EXPECT_EQ(finding["subject"], "registers_per_thread");
  EXPECT_EQ(finding["baseline"], "31");
  EXPECT_EQ(finding["candidate"], "33");
  EXPECT_EQ(json["cases"][1]["smallest_regression_points"], 1);
}

// The shape that the action documents for its tools customBiggerIsBetter and customSmallerIsBetter: a list of
// objects with name, unit and value, and where known range and extra as text.
TEST(GateOutputs, GithubActionBenchmarkGetsOccupancyAsBiggerAndTimeAsSmallerIsBetter) {
  const auto bigger = nlohmann::json::parse(comparison_github_action_benchmark(one_regression(), true));
  const auto smaller = nlohmann::json::parse(comparison_github_action_benchmark(one_regression(), false));
  const auto entry = [](const nlohmann::json& list, const std::string& name) {
    const auto found = std::ranges::find_if(list, [&](const auto& one) { return one["name"] == name; });
    return found == list.end() ? nlohmann::json() : *found;
  };
  const nlohmann::json achieved = entry(bigger, "block_size/spin/plain/number=0 achieved_pct");
  EXPECT_EQ(achieved["value"], 99.7);
  EXPECT_EQ(achieved["unit"], "%");
  EXPECT_EQ(achieved["range"], "± 0.05");
  EXPECT_EQ(achieved["extra"], "NVIDIA H200");
  EXPECT_EQ(entry(bigger, "block_size/spin/plain/number=0 theoretical_pct")["value"], 100);
  EXPECT_EQ(entry(smaller, "block_size/spin/plain/number=0 time_us")["value"], 404);
  EXPECT_TRUE(entry(smaller, "block_size/spin/plain/number=0 achieved_pct").is_null());
  EXPECT_TRUE(entry(smaller, "block_size/spin/plain/number=0 prediction_error_points").is_null())
      << "the action alerts on ratios: 0.02 points instead of 0.01 would be twice as bad";
}

// bencher.dev's JSON schema of the Bencher Metric Format: benchmark -> measure -> {value, lower_value,
// upper_value}.
TEST(GateOutputs, BencherGetsOccupancyAndLatencyInNanoseconds) {
  const auto json = nlohmann::json::parse(comparison_bencher(one_regression()));
  ASSERT_EQ(json.size(), 4u);
  const auto& measures = json["block_size/spin/plain/number=0"];
  EXPECT_EQ(measures["achieved_pct"]["value"], 99.7);
  EXPECT_NEAR(measures["achieved_pct"]["lower_value"].get<double>(), 99.65, 1e-9);
  EXPECT_EQ(measures["latency"]["value"], 404'000);
  EXPECT_LT(measures["latency"]["lower_value"], measures["latency"]["upper_value"]);
  for (const auto& [name, measure] : measures.items()) EXPECT_TRUE(measure["value"].is_number()) << name;
}

}  // namespace
}  // namespace occbench
