#include "orchestrate/run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "in_a_child.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "orchestrate/plan.hpp"
#include "record/csv.hpp"
#include "record/provenance.hpp"
#include "record/simulated.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;
using ::testing::StartsWith;
using ::testing::Throws;

Row row_of(const std::string& name) {
  Row row;
  row.schema = 1;
  row.experiment = "fake";
  row.case_ = name;
  row.time_status = "ok";
  row.counters_status = "ok";
  return row;
}

TEST(OutputFile, ThatNobodyNamesIsOfOneProcessOfOneHost) {
  const std::string mine = output_file("", "trace");
  EXPECT_THAT(mine, AllOf(StartsWith("results/local/"), HasSubstr(host_name()), EndsWith("-trace.csv")));
  EXPECT_TRUE(in_a_child([&] { return output_file("", "trace") != mine; })) << "in the same second";
}

/// Bench binaries are shell scripts here: the runner knows nothing of one but its arguments, its progress,
/// its rows and its end.
class RunningBenches : public ::testing::Test {
 protected:
  RunningBenches() {
    options_.benches = folder_;
    options_.out = (folder_ / "rows.csv").string();
  }

  /// A program with these cases. `body` runs for each case that it is asked for and that has no row yet, with the
  /// case's name in $name and its row in $row; it can call `finish` to write the row and tell of it, as a case that
  /// went well does.
  void write_bench(const std::vector<std::string>& names, const std::string& body,
                   const std::string& program = "bench_fake") {
    std::ofstream script(folder_ / program);
    script << "#!/bin/bash\n"
           << "for a in \"$@\"; do case $a in --occ_list=*) list=${a#*=};; --occ_csv=*) csv=${a#*=};; "
           << "--occ_cases=*) cases=${a#*=};; --occ_progress_fd=*) fd=${a#*=};; esac; done\n"
           << "finish() { printf '%s\\n' \"$row\" >> \"$csv\"; echo \"ended fake/$name\" >&$fd; }\n"
           << "[[ $list ]] && printf '%s' '" << csv_header() << "' > \"$list\"\n";
    for (const std::string& name : names) {
      std::string line = csv_record(row_of(name));
      line.pop_back();
      script << "name='" << name << "' row='" << line << "'\n"
             << "if [[ $list ]]; then printf '%s\\n' \"$row\" >> \"$list\"\n"
             << "elif grep -qx \"fake/$name\" \"$cases\" && ! grep -q \",$name,\" \"$csv\"; then "
             << "echo \"begun fake/$name\" >&$fd; " << body << "\nfi\n";
    }
    script.close();
    fs::permissions(folder_ / program, fs::perms::owner_all);
  }

  /// As `occbench run --out` does. @returns what it printed
  std::string measure() {
    out_.str("");
    err_.str("");
    Console console{out_, err_};
    status_ = measure_benches(options_, planned_benches(options_), options_.out, "", console);
    return out_.str();
  }

  std::vector<std::string> verdicts() const {
    std::vector<std::string> texts;
    for (const CaseRecord& each : read_case_records(options_.out))
      texts.push_back(fmt::format("{} {}", each.identity.name, to_string(each.times.status.value())));
    return texts;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  RunOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
  ExitStatus status_ = ExitStatus::done;
};

TEST(OutputFile, IsAFileAndNotStandardOutput) {
  EXPECT_EQ(output_file("rows.csv", "smoke"), "rows.csv");
  EXPECT_THROW(output_file("-", "smoke"), InputError);
}

TEST_F(RunningBenches, AResumedFileWithRowsOfOtherCasesCountsThoseThatAreMissing) {
  write_bench({"a"}, "finish");
  measure();
  write_bench({"b", "c"}, "finish");
  options_.resume = true;
  EXPECT_THAT(measure(), AllOf(HasSubstr("1/2 fake/b"), HasSubstr("2/2 fake/c")));
  EXPECT_EQ(read_rows(options_.out).size(), 3U);
  EXPECT_THAT(err_.str(), HasSubstr("rows.csv has 1 row of other cases too\n"));
}

TEST_F(RunningBenches, ALogThatIsALinkIsRefusedBeforeAnythingIsWritten) {
  write_bench({"a"}, "finish");
  std::ofstream(folder_ / "precious") << "precious";
  fs::create_symlink("precious", folder_ / "rows.csv.log");
  EXPECT_THROW(measure(), InputError);
  EXPECT_FALSE(fs::exists(options_.out));
  EXPECT_EQ(read_text(folder_ / "precious"), "precious");
}

TEST_F(RunningBenches, ARunThatIsNotResumedKeepsTheRowsThatItsFileHas) {
  write_bench({"a"}, "finish");
  measure();
  EXPECT_EQ(err_.str(), "");
  const std::string before = read_text(options_.out);
  write_bench({"b"}, "finish");
  measure();
  EXPECT_EQ(read_rows(options_.out).at(0).case_, "b");
  const std::string said = err_.str();
  const std::size_t from = said.find("is kept as ") + 11;
  EXPECT_EQ(read_text(said.substr(from, said.find(';') - from)), before);
}

TEST_F(RunningBenches, ACaseThatKillsItsProcessIsFailedAndTheOthersRun) {
  write_bench({"a", "b", "c"}, "[[ $name == b ]] && kill -9 $$; finish");
  EXPECT_THAT(measure(), HasSubstr("failed\n          the process ended with signal 9"));
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b failed", "c ok"));
  EXPECT_THAT(read_rows(options_.out)[1].note, HasSubstr("signal 9"));
  EXPECT_EQ(status_, ExitStatus::no_verdict);
}

TEST_F(RunningBenches, ACaseIsShownOnceWhenItEndsWhetherItsBinaryTellsOrOnlyWritesIt) {
  write_bench({"a", "b"}, "[[ $name == a ]] && finish || printf '%s\\n' \"$row\" >> \"$csv\"");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
  for (const char* name : {"fake/a", "fake/b"}) {
    const std::size_t shown = out_.str().find(name);
    ASSERT_NE(shown, std::string::npos) << name;
    EXPECT_EQ(out_.str().find(name, shown + 1), std::string::npos) << name;
  }
}

TEST_F(RunningBenches, OnlyTheFileSaysWhatWasMeasured) {
  write_bench({"a", "b"},
              "echo no line of progress >&$fd; [[ $name == a ]] && echo ended fake/a >&$fd || finish");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("b ok")) << "a was told of and has no row";
}

TEST_F(RunningBenches, ACaseWhoseProcessDiesOnceItsRowIsWrittenKeepsThatRow) {
  write_bench({"a", "b"}, "printf '%s\\n' \"$row\" >> \"$csv\"; [[ $name == a ]] && kill -9 $$");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
}

TEST_F(RunningBenches, ABinaryThatEndsAfterItsRowsFailureIsStartedAgain) {
  write_bench({"a", "b", "c"}, "finish; [[ $name == b ]] && exit 2");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok", "c ok"));
}

TEST_F(RunningBenches, ABinaryThatNeverBeginsIsGivenUpAndItsOutputIsShown) {
  write_bench({"a"}, "echo the driver is gone; exit 2");
  measure();
  EXPECT_TRUE(verdicts().empty());
  EXPECT_THAT(err_.str(), HasSubstr("the driver is gone"));
}

TEST_F(RunningBenches, AFlagThatOnlyABinaryCanJudgeIsWrongUseInItsWords) {
  options_.metrics = {"no_such_metric"};
  write_bench({"a"}, "echo \"$*: the nearest is another_metric\"; exit 64");
  const std::string message = message_of([&] { measure(); });
  EXPECT_THAT(message, HasSubstr("--occ_metrics=no_such_metric"));
  EXPECT_THAT(message, HasSubstr("another_metric"));
}

TEST_F(RunningBenches, WhatABinaryRefusesIsWrongUseBeforeAFileIsTouchedAndWhatItSaysOfTheRestIsKept) {
  options_.metrics = {"a_metric"};
  options_.flags = {"--occ_timeline=over_time"};
  write_bench({"a"}, "finish");
  const std::string script = read_text(folder_ / "bench_fake");
  const auto beginning_with = [&](const std::string& line) {
    std::ofstream(folder_ / "bench_fake") << "#!/bin/bash\n" << line << '\n' << script;
  };
  beginning_with("echo \"asked: $*\"");
  EXPECT_THAT(planned_benches(options_).at(0).notes,
              ElementsAre(HasSubstr("--occ_counters=auto --occ_metrics=a_metric --occ_timeline=over_time")));
  beginning_with("echo 'no such metric'; exit 64");
  EXPECT_THROW(planned_benches(options_), InputError);
}

TEST_F(RunningBenches, WhatIsMeasuredInDepthIsForTheBinariesToDo) {
  options_.flags = {"--occ_device_profile=my.profile", "--occ_timeline=over_time", "--occ_per_sm=each_sm",
                    "--occ_shuffle=7"};
  write_bench({"a"}, "printf '%s\\n' \"$*\" > \"$csv.asked\"; finish");
  measure();
  const std::string asked = read_text(options_.out + ".asked");
  EXPECT_THAT(
      asked,
      HasSubstr(
          "--occ_device_profile=my.profile --occ_timeline=over_time --occ_per_sm=each_sm --occ_shuffle=7"));
  EXPECT_THAT(asked, Not(HasSubstr("--occ_metrics")));
}

TEST_F(RunningBenches, AProgramThatCouldNotMeasureSomethingBesideItsRowsIsHeard) {
  write_bench({"a", "b"}, "finish");
  measure();
  EXPECT_EQ(status_, ExitStatus::done);
  write_bench({"a", "b"}, "finish; [[ $name == b ]] && exit 2");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
  EXPECT_EQ(status_, ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("not all that was asked for was measured"));
}

TEST_F(RunningBenches, WhatTheFileHasAlreadyIsNotRunAgain) {
  write_bench({"a", "b"}, "[[ $name == a ]] && kill -9 $$; finish");
  RunFile(options_.out, RunFile::Mode::create).append(row_of("a"), {});
  options_.resume = true;
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
}

/// The case waits until it is shown: a row is not read only when its program has ended.
// The program is killed with the process that started it, as by a job's end; a sweep is measured by the same function.
TEST_F(RunningBenches, KilledAtRandomMomentsLosesNoFinishedRow) {
  std::vector<std::string> names;
  for (int number = 0; number < 30; ++number) names.push_back(fmt::format("case-{}", number));
  write_bench(names, "sleep 0.002; finish");
  options_.resume = true;
  std::mt19937 chance(1);
  std::size_t finished = 0;
  int interrupted = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      measure();
      ::_exit(0);
    }
    ::setpgid(child, child);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 400'000)(chance));
    interrupted += ::kill(-child, round % 2 == 0 ? SIGKILL : SIGINT) == 0 ? 1 : 0;
    ::waitpid(child, nullptr, 0);
    if (!fs::exists(options_.out)) continue;
    const std::size_t rows = read_rows(options_.out).size();
    EXPECT_GE(rows, finished);
    finished = rows;
    if (rows == names.size()) fs::remove(options_.out), finished = 0;
  }
  EXPECT_GT(interrupted, 20);
  measure();
  std::set<std::string> measured;
  for (const Row& row : read_rows(options_.out)) EXPECT_TRUE(measured.insert(row.case_).second) << row.case_;
  EXPECT_EQ(measured.size(), names.size());
}

TEST_F(RunningBenches, ARowIsShownWhenItsCaseEnds) {
  write_bench({"a", "b"}, "finish; for i in {1..400}; do [[ -e \"$csv.shown\" ]] && break; sleep 0.02; done");
  class ShownRows final : public std::stringbuf {
   public:
    explicit ShownRows(fs::path told) : told_(std::move(told)) {}
    int sync() override {
      if (str().find("fake/a") != std::string::npos) std::ofstream{told_};
      return 0;
    }

   private:
    fs::path told_;
  } shown(options_.out + ".shown");
  std::ostream out(&shown);
  Console console{out, err_};
  const auto start = std::chrono::steady_clock::now();
  measure_benches(options_, planned_benches(options_), options_.out, "", console);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
}

TEST_F(RunningBenches, NamesOfTheSuiteThatLinkToItAreAskedOnceAndOthersAreProgramsOfTheirOwn) {
  write_bench({"a", "b"}, "finish", "bench_all");
  fs::create_symlink("bench_all", folder_ / "bench_a");
  write_bench({"mine"}, "finish", "bench_mine");
  EXPECT_THAT(bench_programs(folder_), ElementsAre(folder_ / "bench_all", folder_ / "bench_mine"));
  // Where links cannot be kept, a copy has cases that the suite has too.
  fs::copy_file(folder_ / "bench_all", folder_ / "bench_b");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok", "mine ok"));
}

TEST_F(RunningBenches, AFilterThatMatchesNothingIsWrongUse) {
  write_bench({"a"}, "finish");
  options_.filter = "nothing_like_it";
  EXPECT_THROW(planned_benches(options_), InputError);
}

TEST_F(RunningBenches, ABinaryThatFindsNoCodeForTheGpuGivesNoVerdictAndItsMessage) {
  std::ofstream(folder_ / "bench_fake") << "#!/bin/bash\necho no code that the GPU can run; exit 2\n";
  fs::permissions(folder_ / "bench_fake", fs::perms::owner_all);
  EXPECT_THAT(
      [&] { planned_benches(options_); },
      Throws<CannotList>(AllOf(Property(&CannotList::status, ExitStatus::no_verdict),
                               Property(&CannotList::what, HasSubstr("no code that the GPU can run")))));
}

TEST_F(RunningBenches, AFolderWithoutBinariesIsWrongUse) {
  EXPECT_THROW(planned_benches(options_), InputError);
}

const std::string kRecorded = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv";

class Rehearsing : public ::testing::Test {
 protected:
  /// `occbench run --rehearse` of the recorded cases of an experiment, or of some of them, into a file.
  ExitStatus rehearse(const std::string& name, std::vector<std::string> more,
                      const std::string& filter = "^waves/") {
    std::vector<std::string> arguments = {"run",  "--rehearse", kRecorded, "--filter",
                                          filter, "--out",      file(name)};
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

TEST_F(Rehearsing, TakesAllCasesOfTheFileAndSaysSo) {
  ASSERT_EQ(rehearse("all.csv", {"--suite", "smoke"}), ExitStatus::done);
  EXPECT_EQ(rows("all.csv").size(), 34);
  EXPECT_NE(err_.find("--suite is not used"), std::string::npos) << err_;
}

TEST_F(Rehearsing, GoesOnWhereItStopped) {
  ASSERT_EQ(rehearse("whole.csv", {}), ExitStatus::done);
  ASSERT_EQ(rehearse("parts.csv", {}, "^waves/.*waves=0"), ExitStatus::done);
  ASSERT_EQ(rehearse("parts.csv", {"--resume"}), ExitStatus::done);
  EXPECT_EQ(rows("parts.csv"), rows("whole.csv"));
  EXPECT_THAT(err_, Not(HasSubstr("other cases")));
  ASSERT_EQ(rehearse("parts.csv", {"--resume"}, "^waves/.*waves=0"), ExitStatus::done);
  EXPECT_THAT(out_, HasSubstr("\n3 of 3 cases"));
  EXPECT_THAT(err_, HasSubstr("parts.csv has 31 rows of other cases too\n"));
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
