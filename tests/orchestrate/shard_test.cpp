#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "orchestrate/plan.hpp"
#include "record/csv.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRecorded = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv";

const std::vector<CaseRecord>& recorded_cases() {
  static const std::vector<CaseRecord> cases = read_case_records(kRecorded);
  return cases;
}

double seconds_of(const std::set<std::string>& names) {
  double seconds = 0;
  for (const CaseRecord& each : recorded_cases()) {
    if (names.contains(full_name(each.identity))) seconds += expected_seconds(each);
  }
  return seconds;
}

TEST(Shards, HaveEachCaseOnce) {
  std::multiset<std::string> all;
  for (int index = 1; index <= 16; ++index) {
    const std::set<std::string> names = cases_of_shard(recorded_cases(), {index, 16});
    all.insert(names.begin(), names.end());
  }
  EXPECT_EQ(all.size(), recorded_cases().size());
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), recorded_cases().size());
}

TEST(Shards, AreTheSameInWhateverOrderTheCasesCome) {
  std::vector<CaseRecord> reversed = recorded_cases();
  std::ranges::reverse(reversed);
  EXPECT_EQ(cases_of_shard(reversed, {3, 16}), cases_of_shard(recorded_cases(), {3, 16}));
}

TEST(Shards, TakeAboutEquallyLong) {
  double longest = 0;
  double shortest = 1e9;
  for (int index = 1; index <= 16; ++index) {
    const double seconds = seconds_of(cases_of_shard(recorded_cases(), {index, 16}));
    longest = std::max(longest, seconds);
    shortest = std::min(shortest, seconds);
  }
  EXPECT_LT(longest, 1.05 * shortest);
}

TEST(Shards, RefuseWhatIsNoPart) {
  for (const char* text : {"", "3", "0/4", "5/4", "1/x", "-1/4", "1/4/2", "1/1000000"})
    EXPECT_THROW(parse_shard(text), InputError) << text;
  EXPECT_EQ(parse_shard("3/16").index, 3);
  EXPECT_THROW(cases_of_shard(std::span(recorded_cases()).first(3), {4, 4}), InputError);
}

class Rehearsing : public ::testing::Test {
 protected:
  /// `occbench run --rehearse` of the recorded cases of an experiment, into a file.
  ExitStatus rehearse(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run",     "--rehearse", kRecorded, "--filter",
                                          "^waves/", "--out",      file(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  ExitStatus run(const std::vector<std::string>& arguments) {
    const Outcome outcome = run_command(arguments);
    out_ = outcome.out;
    err_ = outcome.err;
    return outcome.status;
  }

  std::string file(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  /// The rows of a file by their names, without what tells one run from another.
  std::vector<std::string> rows(const std::string& name) const {
    std::vector<std::string> rows;
    for (Row& row : read_rows(file(name))) {
      row.recorded_at.clear();
      rows.push_back(csv_record(row));
    }
    std::ranges::sort(rows);
    return rows;
  }

  TemporaryFolder folder_;
  std::string out_, err_;
};

TEST_F(Rehearsing, ShardsMergeToTheRowsOfASingleRun) {
  ASSERT_EQ(rehearse("single.csv", {}), ExitStatus::done);
  std::vector<std::string> merge = {"merge", "--shards", "-o", file("all.csv")};
  for (int index = 1; index <= 4; ++index) {
    const std::string name = fmt::format("shard-{}.csv", index);
    ASSERT_EQ(rehearse(name, {"--shard", fmt::format("{}/4", index)}), ExitStatus::done);
    merge.push_back(file(name));
  }
  ASSERT_EQ(run(merge), ExitStatus::done) << err_;
  EXPECT_EQ(rows("single.csv").size(), 34);
  EXPECT_EQ(rows("all.csv"), rows("single.csv"));
}

TEST_F(Rehearsing, TakesAllCasesOfTheFileAndSaysSo) {
  ASSERT_EQ(rehearse("all.csv", {"--suite", "smoke"}), ExitStatus::done);
  EXPECT_EQ(rows("all.csv").size(), 34);
  EXPECT_NE(err_.find("--suite is not used"), std::string::npos) << err_;
}

TEST_F(Rehearsing, GoesOnWhereItStopped) {
  ASSERT_EQ(rehearse("whole.csv", {}), ExitStatus::done);
  ASSERT_EQ(rehearse("parts.csv", {"--shard", "1/2"}), ExitStatus::done);
  ASSERT_EQ(rehearse("parts.csv", {"--resume"}), ExitStatus::done);
  EXPECT_EQ(rows("parts.csv"), rows("whole.csv"));
}

/// The first line of what a command prints.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

TEST_F(Rehearsing, SaysInEachRowThatNothingWasMeasured) {
  ASSERT_EQ(rehearse("rows.csv", {"--device", "3"}), ExitStatus::done);
  EXPECT_EQ(first_line(out_), kSimulatedLine);
  const std::vector<Row> simulated = read_rows(file("rows.csv"));
  ASSERT_FALSE(simulated.empty());
  for (const Row& row : simulated) {
    EXPECT_EQ(row.time_status, "simulated");
    EXPECT_EQ(row.counters_status, "simulated");
    EXPECT_EQ(row.achieved_pct, row.predicted_pct);
    EXPECT_THAT(row.note, HasSubstr("not measured"));
    EXPECT_THAT(row.gpu_uuid, ::testing::StartsWith("simulated-"));
    EXPECT_THAT(row.gpu_uuid, ::testing::EndsWith("-3"));
  }
}

TEST_F(Rehearsing, EveryCommandThatReadsSimulatedRowsSaysSoInItsFirstLine) {
  for (const char* const device : {"0", "1", "2"})
    ASSERT_EQ(rehearse(fmt::format("{}.csv", device), {"--device", device}), ExitStatus::done);
  ASSERT_EQ(run({"merge", file("0.csv"), file("1.csv"), file("2.csv"), "-o", file("all.csv")}),
            ExitStatus::done);
  EXPECT_EQ(first_line(out_), kSimulatedLine);
  const std::string rows = file("0.csv");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"gate", rows, rows},
                                             {"gate", rows, rows, "--format", "markdown"},
                                             {"explain", rows},
                                             {"fleet", file("all.csv")}}) {
    EXPECT_EQ(run(command), ExitStatus::done) << command[0] << err_;
    EXPECT_EQ(first_line(out_), kSimulatedLine) << command[0];
  }
  for (std::vector<std::string> command : std::vector<std::vector<std::string>>{
           {"gate", rows, rows}, {"explain", rows}, {"fleet", file("all.csv")}}) {
    command.insert(command.end(), {"--format", "json"});
    EXPECT_EQ(run(command), ExitStatus::done);
    EXPECT_EQ(first_line(err_), kSimulatedLine) << command[0] << ": standard output is JSON";
  }
}

TEST_F(Rehearsing, ExplainCallsNoSimulatedValueMeasured) {
  ASSERT_EQ(rehearse("a.csv", {}), ExitStatus::done);
  const std::string rows = file("a.csv");
  for (const char* const format : {"table", "lines"}) {
    ASSERT_EQ(run({"explain", rows, "--format", format}), ExitStatus::done) << err_;
    // Below the line that says so of all rows.
    EXPECT_THAT(out_.substr(out_.find('\n')), HasSubstr("simulated")) << format;
    for (const char* const word : {", counter ", " counter  ", ", measured]", "from the counter"})
      EXPECT_THAT(out_ + err_, Not(HasSubstr(word))) << format;
  }
}

TEST_F(Rehearsing, EachFormatOfTheGateMarksSimulatedRows) {
  ASSERT_EQ(rehearse("a.csv", {}), ExitStatus::done);
  for (const auto& [format, mark] : {std::pair{"junit", R"(<testsuite name="simulated: waves")"},
                                     {"json", R"("headline": "pass (simulated): )"},
                                     {"annotations", "pass (simulated): "},
                                     {"github-action-benchmark-bigger", R"("name": "simulated: waves/)"},
                                     {"bencher", R"("simulated: waves/)"}}) {
    ASSERT_EQ(run({"gate", file("a.csv"), file("a.csv"), "--format", format}), ExitStatus::done) << err_;
    EXPECT_THAT(out_, HasSubstr(mark)) << format;
  }
}

TEST_F(Rehearsing, SimulatedAndMeasuredRowsAreNeitherComparedNorMerged) {
  ASSERT_EQ(rehearse("a.csv", {}), ExitStatus::done);
  const std::string simulated = file("a.csv");
  const std::string measured = file("b.csv");
  std::string text = csv_header();
  for (const Row& row : read_rows(kRecorded)) {
    if (row.experiment == "waves") text += csv_record(row);
  }
  replace_text(measured, text);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"gate", measured, simulated},
                                             {"gate", simulated, measured},
                                             {"fleet", measured, simulated},
                                             {"fleet", simulated, "--baseline", measured},
                                             {"merge", measured, simulated, "-o", file("merged.csv")},
                                             {"report", measured, simulated, "-o", file("page.html")}}) {
    EXPECT_EQ(run(command), ExitStatus::usage) << command[0];
    EXPECT_THAT(err_, HasSubstr("not compared or merged")) << command[0];
  }
  EXPECT_FALSE(fs::exists(file("merged.csv")));
  EXPECT_EQ(rehearse("b.csv", {"--resume"}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("this run has simulated rows"));
}

}  // namespace
}  // namespace occbench
