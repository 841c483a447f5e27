#include "gate/outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
#include "files/output.hpp"
#include "gate/compare.hpp"
#include "gate/tolerances.hpp"
#include "made_up_run.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

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

std::string as(const std::string& format, const Comparison& comparison) {
  return kGateFormats.at(format).text(comparison);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(GateOutputs, ARunIsDatedByItsFirstRowWhereverThatIsInTheComparison) {
  const Comparison comparison =
      compared(4, [](MadeUpRun& run) { run.rows[2].recorded_at = "2026-03-01T11:59:00Z"; });
  EXPECT_THAT(as("table", comparison), HasSubstr("commit 0123456789ab, 2026-03-01T11:59:00Z"));
}

TEST(GateOutputs, TheTableSaysWhatWasComparedWhatWasFoundAndWhatCouldHaveBeen) {
  const std::string text = as("table", one_regression());
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

TEST(GateOutputs, ANoteOnAReadingIsShownBeforeCasesThatWereNotMeasured) {
  const auto skip_six = [](MadeUpRun& run) {
    for (std::size_t i = 0; i < 6; ++i) {
      run.rows[i].time_status = "skipped";
      run.rows[i].note = fmt::format("{} blocks too many", i);
    }
    run.rows[7].achieved_elapsed_pct = 80;
  };
  const MadeUpRun baseline = made_up_run(8).with(skip_six);
  const MadeUpRun candidate = baseline.with([](MadeUpRun& run) { *run.rows[7].achieved_pct -= 13; });
  const std::string text = as("table", compare(baseline.run(), candidate.run(), {}));
  EXPECT_THAT(text, HasSubstr("the last blocks ran on other SMs"));
  EXPECT_THAT(text, HasSubstr("... and 2 more"));
}

TEST(GateOutputs, WhatIsSaidOfManyCasesIsSaidOnce) {
  const Comparison comparison = compared(50, [](MadeUpRun& run) {
    for (Row& row : run.rows) row.gpu = "NVIDIA A100";
  });
  const std::string text = as("table", comparison);
  EXPECT_EQ(count(text, "cannot be compared"), 1u);
  EXPECT_THAT(text, HasSubstr("and 49 more"));
}

TEST(GateOutputs, RegressionsOfOneKindAreNamed) {
  const auto of_one_kind = [](int cases) {
    return compared(cases, [](MadeUpRun& run) {
      for (Row& row : run.rows) row.registers_per_thread = 33;
    });
  };
  const std::string reason = "registers_per_thread 31 -> 33";
  const Comparison three = of_one_kind(3);
  const std::string names[] = {three.cases[0].full_name(), three.cases[1].full_name(),
                               three.cases[2].full_name()};
  EXPECT_THAT(as("table", three), HasSubstr(fmt::format("regression  {}\n            {}",
                                                        fmt::join(names, "\n            "), reason)));
  EXPECT_THAT(as("markdown", three),
              HasSubstr(fmt::format("| regression | {} | registers", fmt::join(names, "<br>"))));
  EXPECT_THAT(as("annotations", three), AllOf(HasSubstr(" and 2 more::" + reason),
                                              HasSubstr(fmt::format("%0A{}\n", fmt::join(names, "%0A")))));
  const Comparison twelve = of_one_kind(12);
  const std::string rest = "and 4 more; formats json and junit have all";
  EXPECT_THAT(as("table", twelve), HasSubstr(fmt::format("\n            {}\n", rest)));
  EXPECT_EQ(count(as("markdown", twelve), "<br>"), 8u);
  EXPECT_THAT(as("markdown", twelve), HasSubstr("<br>" + rest + " | "));
  EXPECT_THAT(as("annotations", twelve), HasSubstr("%0A" + rest + "\n"));
}

TEST(GateOutputs, AThousandRegressionsStayReadable) {
  const Comparison comparison = regressions(1000);
  EXPECT_EQ(comparison.count(Verdict::regression), 1000u);
  EXPECT_LT(count(as("table", comparison), "\n"), 100u);
  EXPECT_THAT(as("table", comparison), HasSubstr("... and 960 more (formats json and junit have all)"));
  EXPECT_THAT(as("table", comparison), HasSubstr("regression: 1000 cases, 1000 regression"));
  // GitHub takes a summary of at most 1 MiB, and shows ten errors a step.
  EXPECT_LT(as("markdown", comparison).size(), std::size_t{1} << 20);
  EXPECT_EQ(count(as("annotations", comparison), "::error "), 10u);
  EXPECT_EQ(count(as("junit", comparison), "<failure "), 1000u);
  EXPECT_EQ(nlohmann::json::parse(as("json", comparison))["cases"].size(), 1000u);
}

TEST(GateOutputs, MarkdownKeepsATableWhateverANameHolds) {
  const std::string text =
      as("markdown", compared(1, [](MadeUpRun& run) { run.rows[0].case_ = "a|b\n<script>`x`</script>"; }));
  EXPECT_THAT(text, HasSubstr("a\\|b &lt;script&gt;&#96;x&#96;&lt;/script&gt;"));
  EXPECT_THAT(text, testing::StartsWith("## occbench gate: no verdict: 2 cases"));
}

TEST(GateOutputs, AnnotationsAreEscapedAsTheRunnerReadsThem) {
  const std::string text =
      as("annotations", compared(2, [](MadeUpRun& run) { run.rows[0].work = "100%\nof,it:all"; }));
  EXPECT_THAT(text, HasSubstr("::error title=occupancy regression%3A block_size/spin/plain/number=0::"
                              "work equal:200000 -> 100%25%0Aof,it:all"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, testing::StartsWith("::"));
}

TEST(GateOutputs, AnnotationsOfAPassAreOneNotice) {
  EXPECT_THAT(
      as("annotations", compared(2, [](MadeUpRun&) {})),
      testing::StartsWith("::notice title=occupancy gate::pass: 2 cases, 2 pass. Smallest regression"));
}

TEST(GateOutputs, JunitTellsFailuresFromWhatCouldNotBeTested) {
  const std::string text = as("junit", compared(4, [](MadeUpRun& run) {
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
  const std::string text = as("junit", with_two_not_compared());
  EXPECT_THAT(text,
              HasSubstr(R"(<testsuite name="block_size" tests="2" failures="0" errors="0" skipped="1">)"));
  EXPECT_THAT(text, HasSubstr(R"(<skipped message="skipped in both: one block too many"/>)"));
  EXPECT_THAT(text, HasSubstr(R"(<skipped message="new: the baseline has no such case"/>)"));
}

TEST(GateOutputs, JunitHasATestForWhatConcernsTheWholeRun) {
  const RecordedRun empty = parse_run("", "", "empty.csv");
  const std::string text = as("junit", compare(empty, empty, {}));
  EXPECT_THAT(text, HasSubstr(R"(<testsuite name="gate" tests="1" failures="0" errors="1" skipped="0">)"));
  EXPECT_THAT(text, HasSubstr("nothing of empty.csv could be compared: empty.csv has no rows"));
}

TEST(GateOutputs, JsonHasEveryFinding) {
  const auto json = nlohmann::json::parse(as("json", one_regression()));
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
  const auto bigger = nlohmann::json::parse(as("github-action-benchmark-bigger", one_regression()));
  const auto smaller = nlohmann::json::parse(as("github-action-benchmark-smaller", one_regression()));
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
}

// bencher.dev's JSON schema of the Bencher Metric Format: benchmark -> measure -> {value, lower_value,
// upper_value}.
TEST(GateOutputs, BencherGetsOccupancyAndLatencyInNanoseconds) {
  const auto json = nlohmann::json::parse(as("bencher", one_regression()));
  ASSERT_EQ(json.size(), 4u);
  const auto& measures = json["block_size/spin/plain/number=0"];
  EXPECT_EQ(measures["achieved_pct"]["value"], 99.7);
  EXPECT_NEAR(measures["achieved_pct"]["lower_value"].get<double>(), 99.65, 1e-9);
  EXPECT_EQ(measures["latency"]["value"], 404'000);
  EXPECT_LT(measures["latency"]["lower_value"], measures["latency"]["upper_value"]);
  for (const auto& [name, measure] : measures.items()) EXPECT_TRUE(measure["value"].is_number()) << name;
}

TEST(GateOutputs, TrackersGetNoPointOfAThrottledFailedOrWrongLaunch) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    run.rows[0].time_status = "throttled";
    run.rows[1].time_status = "failed";
    run.rows[2].check = "wrong";
  });
  EXPECT_EQ(nlohmann::json::parse(as("bencher", comparison)).size(), 1u);
  for (const char* format : {"github-action-benchmark-bigger", "github-action-benchmark-smaller"}) {
    for (const auto& entry : nlohmann::json::parse(as(format, comparison)))
      EXPECT_THAT(entry["name"].get<std::string>(), testing::StartsWith("waves/spin/plain/number=3 "));
  }
}

// A gate without a GPU: rows that `occbench calc` computes of binaries and batches.
std::string calc_batch(const std::string& rows) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "batch.csv";
  std::ofstream(file) << rows;
  return printed({"calc", "--batch", file.c_str()});
}

/// Kernels of 512 threads on compute capability 9.0, named and with so many registers.
std::string batch_of(std::initializer_list<std::pair<const char*, int>> kernels) {
  std::string text = "case,compute_capability,block_threads,registers_per_thread,note\n";
  for (const auto& [name, registers] : kernels) text += fmt::format("{},9.0,512,{},x\n", name, registers);
  return calc_batch(text);
}

Comparison compare_texts(const std::string& baseline, const std::string& candidate) {
  return compare(parse_run(baseline, "", "baseline.csv"), parse_run(candidate, "", "candidate.csv"), {});
}

std::string messages_of(const ComparedCase& compared) {
  std::string text;
  for (const GateFinding& finding : compared.findings) text += finding.message + "\n";
  return text;
}

TEST(StaticRows, PassAgainstThemselvesWithoutTimeOrCounters) {
  const std::string rows = batch_of({{"a", 32}, {"b", 40}});
  const Comparison comparison = compare_texts(rows, rows);
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_TRUE(comparison.general.empty()) << comparison.general.front().message;
  for (const ComparedCase& compared : comparison.cases) EXPECT_TRUE(compared.compared);
}

TEST(StaticRows, TwoMoreRegistersFailAndAreNamed) {
  const Comparison comparison =
      compare_texts(batch_of({{"a", 32}, {"b", 31}}), batch_of({{"a", 32}, {"b", 33}}));
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(comparison.count(Verdict::regression), 1u);
  EXPECT_EQ(comparison.cases.front().full_name(), "batch/b");
  const std::string messages = messages_of(comparison.cases.front());
  EXPECT_THAT(messages, testing::StartsWith("registers_per_thread 31 -> 33\n"));
  EXPECT_THAT(messages, HasSubstr("theoretical_pct 100 -> 75"));
  EXPECT_THAT(as("table", comparison),
              testing::AllOf(HasSubstr("Smallest regression that would have been found: one more register"),
                             testing::Not(HasSubstr("No regression could have been found"))));
}

TEST(StaticRows, OfALaunchThatNoSmCanHoldSayWhy) {
  const Comparison comparison = compare_texts(batch_of({{"a", 32}}), batch_of({{"a", 200}}));
  EXPECT_THAT(messages_of(comparison.cases.front()),
              testing::ContainsRegex("theoretical_pct 100 -> 0 \\([^)]*registers[^)]*\\)"));
}

TEST(StaticRows, TwoFewerRegistersAreANote) {
  const Comparison comparison = compare_texts(batch_of({{"a", 33}}), batch_of({{"a", 31}}));
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_TRUE(comparison.cases.front().compared);
  EXPECT_THAT(
      messages_of(comparison.cases.front()),
      testing::AllOf(HasSubstr("registers_per_thread 33 -> 31: better"),
                     HasSubstr("theoretical_pct 75 -> 100: better"), HasSubstr("record the baseline again")));
}

TEST(StaticRows, SayThatNothingWasMeasured) {
  const std::string rows = batch_of({{"a", 32}});
  const std::string text = as("table", compare_texts(rows, rows));
  EXPECT_THAT(text, HasSubstr("calculated, nothing measured"));
  EXPECT_THAT(text, HasSubstr("found: one more register; any loss of theory; no "
                              "measurements were compared."))
      << "this batch has no shared memory or spills";
}

TEST(StaticRows, AColumnThatOneFileLacksIsNotSaidToBeCompared) {
  const std::string rows = batch_of({{"a", 32}});
  std::string lacking = rows;
  lacking.replace(lacking.find("registers_per_thread"), 20, "registers_per_warp__");
  const Comparison comparison = compare_texts(rows, lacking);
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_THAT(comparison.general.front().message, HasSubstr("registers_per_thread"));
  EXPECT_THAT(smallest_regression(comparison), testing::Not(HasSubstr("register ")));
  const std::string names = "schema,experiment,case\n3,binary,a\n";
  EXPECT_EQ(compare_texts(names, names).verdict(), Verdict::no_verdict);
  EXPECT_EQ(smallest_regression(compare_texts(names, names)), "No regression could have been found.");
}

TEST(StaticRows, AKernelThatIsGoneHasNoVerdict) {
  const Comparison comparison = compare_texts(batch_of({{"a", 32}, {"b", 32}}), batch_of({{"a", 32}}));
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
}

TEST(StaticRows, OfAnotherComputeCapabilityAreNotCompared) {
  const std::string names = "case,compute_capability,block_threads,registers_per_thread\n";
  const Comparison comparison =
      compare_texts(calc_batch(names + "a,9.0,512,32\n"), calc_batch(names + "a,8.0,512,32\n"));
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
}

TEST(StaticRows, OfANamedGpuAreCalculatedToo) {
  const TemporaryFolder folder;
  const auto rows_of = [&](const char* name, int registers) {
    const std::string file = (folder.path() / (std::string(name) + ".in.csv")).string();
    const std::string rows = (folder.path() / (std::string(name) + ".csv")).string();
    std::ofstream(file) << "case,block_threads,registers_per_thread\na,288,72\nb,512," << registers << "\n";
    std::ofstream(rows) << printed({"calc", "--batch", file.c_str(), "--gpu", "4090"});
    return rows;
  };
  const std::string before = rows_of("before", 40);
  const Outcome better = run_command(std::vector<std::string>{"gate", before, rows_of("better", 39)});
  EXPECT_EQ(better.status, ExitStatus::done) << better.out;
  EXPECT_THAT(better.out, HasSubstr("calculated, nothing measured, for NVIDIA GeForce RTX 4090"));
  EXPECT_EQ(run_command(std::vector<std::string>{"gate", before, rows_of("worse", 48)}).status,
            ExitStatus::regression);
}

TEST(StaticRows, WithoutAnAnswerAreNotCompared) {
  const TemporaryFolder folder;
  const std::string asked = folder.path() / "asked.csv";
  const std::string rows = folder.path() / "rows.csv";
  std::ofstream(asked)
      << "case,compute_capability,block_threads,registers_per_thread\na,9.0,256,32\nb,9.0,2000,32\n";
  std::ofstream(rows) << run_command(std::vector<std::string>{"calc", "--batch", asked}).out;
  const Outcome same = run_command(std::vector<std::string>{"gate", rows, rows});
  EXPECT_THAT(same.out,
              testing::AllOf(HasSubstr("2 cases, 1 pass, 1 not compared"),
                             HasSubstr("no answer in either: block_threads = 2000 is out of range")));
  const std::string fine = folder.path() / "fine.csv";
  std::ofstream(asked)
      << "case,compute_capability,block_threads,registers_per_thread\na,9.0,256,32\nb,9.0,1000,32\n";
  std::ofstream(fine) << printed({"calc", "--batch", asked.c_str()});
  for (const auto& [before, now, side] :
       {std::tuple(rows, fine, "baseline"), std::tuple(fine, rows, "candidate")}) {
    const Outcome lacks = run_command(std::vector<std::string>{"gate", before, now});
    EXPECT_EQ(lacks.status, ExitStatus::no_verdict);
    EXPECT_THAT(lacks.out,
                HasSubstr(fmt::format("no answer in the {}: block_threads = 2000 is out of range", side)));
  }
}

TEST(StaticRows, AreNoStandInForRowsThatWereMeasured) {
  const std::string calculated = batch_of({{"a", 32}});
  std::vector<Row> rows = parse_rows(calculated, "calculated");
  rows[0].gpu = "NVIDIA H200";
  rows[0].time_status = "ok";
  rows[0].achieved_pct = 99;
  rows[0].extra.clear();
  const std::string measured = csv_header() + csv_record(rows[0]);
  EXPECT_EQ(compare_texts(measured, calculated).verdict(), Verdict::no_verdict);
  EXPECT_EQ(compare_texts(calculated, measured).verdict(), Verdict::no_verdict);
}

TEST(StaticRows, WithoutNamesAreRefused) {
  const std::string rows = calc_batch("compute_capability,block_threads,registers_per_thread\n9.0,512,32\n");
  EXPECT_THAT(message_of([&] { parse_run(rows, "", "unnamed.csv"); }),
              HasSubstr("unnamed.csv, line 1: no column 'case'; this is not a file of rows"));
}

const Quantity& achieved() {
  return *find_quantity("achieved_pct");
}

std::string refusal(std::string_view json) {
  return message_of([&] { parse_tolerances(json, "tolerances.json"); });
}

TEST(Tolerances, AreWhatTheFileSaysAndElseTheDefaults) {
  const Tolerances tolerances = parse_tolerances(
      R"({"experiments": {"waves": {"achieved_pct": {"limit": 4}}}, "all": {"achieved_pct": {"limit": 2, "spreads": 5}}})",
      "");
  EXPECT_EQ(tolerances.of("block_size", achieved()), (Tolerance{2, 5}));
  EXPECT_EQ(tolerances.of("waves", achieved()), (Tolerance{4, 5}))
      << "what an experiment leaves out is that of all";
  EXPECT_EQ(tolerances.of("waves", time_quantity()), time_quantity().tolerance);
  EXPECT_EQ(Tolerances{}.of("waves", achieved()), achieved().tolerance);
}

TEST(Tolerances, OfAchievedOccupancyHoldOverElapsedCyclesTooWhereThatHasNone) {
  const auto elapsed = [](std::string_view all) {
    return parse_tolerances(fmt::format(R"({{"all": {{{}}}}})", all), "")
        .of("waves", *find_quantity("achieved_elapsed_pct"));
  };
  const std::string given = R"("achieved_pct": {"limit": 0.2, "spreads": 0})";
  const std::string own = R"("achieved_elapsed_pct": {"limit": 2})";
  EXPECT_EQ(elapsed(given), (Tolerance{0.2, 0}));
  for (const std::string& both : {given + ", " + own, own + ", " + given})
    EXPECT_EQ(elapsed(both), (Tolerance{2, achieved().tolerance.spreads})) << both;
}

TEST(Tolerances, AreReadBackAsTheyWereWritten) {
  Tolerances tolerances;
  tolerances.set("", "time_us", {2.5, 0});
  tolerances.set("waves", "achieved_pct", {0.3, 1.5});
  const Tolerances read = parse_tolerances(tolerances.to_json(), "");
  EXPECT_EQ(read.of("x", time_quantity()), (Tolerance{2.5, 0}));
  EXPECT_EQ(read.of("waves", achieved()), (Tolerance{0.3, 1.5}));
}

TEST(Tolerances, RefuseWhatTheyDoNotKnowAndValuesThatCannotBe) {
  EXPECT_THAT(refusal(R"({"al": {}})"), testing::HasSubstr("unknown key 'al'"));
  EXPECT_THAT(refusal(R"({"all": {"achieved": {}}})"),
              testing::HasSubstr("unknown quantity 'achieved'; there are achieved_pct"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limits": 1}}})"), testing::HasSubstr("has no 'limits'"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limit": -1}}})"),
              testing::HasSubstr("limit of achieved_pct is -1"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limit": "1"}}})"), testing::HasSubstr("from 0 to 1000"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limit": 1e300}}})"),
              testing::HasSubstr("from 0 to 1000"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": 1}})"), testing::HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal("[]"), testing::HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal("{"), testing::StartsWith("tolerances.json: "));
}

TEST(Tolerances, FromRunsAreHalfAsMuchAgainAsTheLargestDifference) {
  std::vector<RecordedRun> runs;
  for (const double points : {0.0, -0.8, -0.4}) {
    MadeUpRun run = made_up_run(4);
    *run.rows[1].achieved_pct += points;
    run.slow_down(0, 1 + points / -40);
    runs.push_back(run.run());
  }
  const Tolerances tolerances = tolerances_from(runs);
  // Row 1 is of waves: 0.8 points apart. Row 0 is of block_size: 2 % apart in time.
  EXPECT_EQ(tolerances.of("waves", achieved()), (Tolerance{1.2, 0}));
  EXPECT_EQ(tolerances.of("block_size", achieved()), (Tolerance{0.2, 0})) << "not below what can be read";
  EXPECT_EQ(tolerances.of("block_size", time_quantity()), (Tolerance{3.0, 0}));
  EXPECT_EQ(tolerances.of("another", achieved()), achieved().tolerance);
}

TEST(Tolerances, FromRunsAreOfTheOccupancyOfUnstableCasesTooAndNotOfTheirTimes) {
  std::vector<RecordedRun> runs;
  for (const double points : {0.0, -1.6}) {
    MadeUpRun run = made_up_run(4);
    run.rows[1].time_status = "unstable";
    run.rows[1].time_spread_pct = 6;
    *run.rows[1].achieved_pct += points;
    run.slow_down(1, 1 - points);
    runs.push_back(run.run());
  }
  const Tolerances tolerances = tolerances_from(runs);
  EXPECT_EQ(tolerances.left_out, 0);
  EXPECT_EQ(tolerances.of("waves", achieved()), (Tolerance{2.4, 0}));
  EXPECT_EQ(tolerances.of("waves", time_quantity()), (Tolerance{0.2, 0})) << "of the other case";
}

TEST(Tolerances, FromRunsLetTheseRunsPass) {
  std::vector<RecordedRun> runs;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    MadeUpRun run = made_up_run(6);
    for (std::size_t row = 0; row < run.rows.size(); ++row) {
      *run.rows[row].achieved_elapsed_pct -= 3;
      *run.rows[row].achieved_pct -= 0.7 * static_cast<double>((seed * (row + 3)) % 5);
      run.slow_down(row, 1 + 0.01 * static_cast<double>((seed * (row + 2)) % 5));
    }
    runs.push_back(run.run());
  }
  const Tolerances tolerances = tolerances_from(runs);
  for (const RecordedRun& before : runs) {
    for (const RecordedRun& now : runs) EXPECT_EQ(compare(before, now, tolerances).verdict(), Verdict::pass);
  }
}

TEST(Tolerances, DoNotComeFromOneRunGivenTwiceNorFromSeveralGpusOrBuilds) {
  const RecordedRun run = made_up_run().run();
  const auto other = [](std::string Row::*member, const std::string& value) {
    MadeUpRun made = made_up_run();
    for (Row& row : made.rows) row.*member = value;
    return made.run("other.csv");
  };
  const auto refusal = [](const std::vector<RecordedRun>& runs) {
    return message_of([&] { tolerances_from(runs); });
  };
  EXPECT_THAT(refusal({run, run}), testing::HasSubstr("are one run"));
  for (const auto& [member, value] :
       {std::pair{&Row::gpu, "NVIDIA A100"}, {&Row::gpu_uuid, "GPU-2"}, {&Row::commit, "ba9876543210"}}) {
    EXPECT_THAT(refusal({run, other(member, value)}),
                testing::HasSubstr(fmt::format(
                    "other.csv of {}: tolerances come from runs of one build on one GPU", value)));
  }
}

TEST(Tolerances, NeedTwoRunsThatShareACase) {
  const std::vector<RecordedRun> one = {made_up_run().run()};
  EXPECT_THROW(tolerances_from(one), InputError);
  const std::vector<RecordedRun> empty = {made_up_run().run(), parse_run("", "", "empty.csv")};
  EXPECT_THROW(tolerances_from(empty), InputError);
}

TEST(Tolerances, OfOccupancyAreWiderOnAnotherGpuWhereALaunchWaitsForWhatIsOutsideItsSm) {
  const auto verdict = [](std::string_view work, Integer spill_bytes, std::string_view gpu) {
    const auto run = [&](double points, std::string_view of) {
      return made_up_run().with([&](MadeUpRun& made) {
        for (Row& row : made.rows) {
          row.gpu_uuid = of;
          row.work = work;
          row.spill_bytes = spill_bytes;
          *row.achieved_pct -= points;
          *row.achieved_elapsed_pct -= points;
        }
      });
    };
    return compare(run(0, "GPU-one").run(), run(2, gpu).run(), {}).verdict();
  };
  EXPECT_EQ(verdict("", 0, "GPU-one"), Verdict::regression);
  EXPECT_EQ(verdict("", 0, "GPU-another"), Verdict::pass);
  EXPECT_EQ(verdict("equal:128000", 0, "GPU-another"), Verdict::pass)
      << "cycles alone do not say what they are spent on";
  EXPECT_EQ(verdict("equal:105444:issue=3944:bytes=237568", 0, "GPU-another"), Verdict::pass);
  EXPECT_EQ(verdict("equal:18288:issue=1532", 556, "GPU-another"), Verdict::pass);
  EXPECT_EQ(verdict("equal:18288:issue=1532", 0, "GPU-another"), Verdict::regression);
  EXPECT_EQ(verdict("equal:200000:poll=2.5", 0, "GPU-another"), Verdict::regression);
}

TEST(Tolerances, OfElapsedCyclesHideNoLossOfALaunchOnFewSms) {
  // Four blocks on four of 132 SMs: a fifth less of both is less than a point over elapsed cycles.
  const auto run = [](double factor, double elapsed_factor) {
    MadeUpRun made = made_up_run();
    for (Row& row : made.rows) {
      row.achieved_pct = 12.38 * factor;
      row.achieved_elapsed_pct = 0.364 * elapsed_factor;
      row.achieved_spread_points = 0.01;
    }
    return made.run();
  };
  EXPECT_EQ(compare(run(1, 1), run(0.8, 0.8), {}).verdict(), Verdict::regression);
  EXPECT_EQ(compare(run(1, 1), run(0.8, 1), {}).verdict(), Verdict::pass) << "other SMs had the last blocks";
}

TEST(Quantities, EveryMeasuredColumnIsOne) {
  for (const Column& column : columns()) {
    if (column.gate != GateRule::measured) continue;
    EXPECT_NE(find_quantity(column.name), nullptr) << column.name;
  }
}

}  // namespace
}  // namespace occbench
