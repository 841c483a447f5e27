#include "orchestrate/run.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Row row_of(const std::string& name) {
  Row row;
  row.schema = 1;
  row.experiment = "fake";
  row.case_ = name;
  row.time_status = "ok";
  row.counters_status = "ok";
  return row;
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

TEST_F(RunningBenches, PlansOnlyTheCasesOfTheShardAndAsksTheProgramForThem) {
  write_bench({"a", "b"}, "finish");
  options_.shard = "2/2";
  const std::vector<Bench> benches = planned_benches(options_);
  ASSERT_EQ(benches.size(), 1);
  ASSERT_EQ(benches[0].cases.size(), 1);
  EXPECT_EQ(benches[0].cases[0].identity.name, "b");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("b ok"));
  EXPECT_THAT(resuming_command(options_, options_.out), HasSubstr("--shard 2/2"));
}

TEST_F(RunningBenches, AResumedFileWithRowsOfOtherCasesCountsThoseThatAreMissing) {
  write_bench({"a"}, "finish");
  measure();
  write_bench({"b", "c"}, "finish");
  options_.resume = true;
  EXPECT_THAT(measure(), AllOf(HasSubstr("1/2 fake/b"), HasSubstr("2/2 fake/c")));
  EXPECT_EQ(read_rows(options_.out).size(), 3U);
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

TEST_F(RunningBenches, AFailedCaseIsShownWithItsReason) {
  write_bench({"a"}, "kill -9 $$");
  EXPECT_THAT(measure(), HasSubstr("failed\n          the process ended with signal 9"));
}

TEST_F(RunningBenches, EveryCaseHasItsRow) {
  write_bench({"a", "b"}, "finish");
  measure();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
}

TEST_F(RunningBenches, ACaseThatKillsItsProcessIsFailedAndTheOthersRun) {
  write_bench({"a", "b", "c"}, "[[ $name == b ]] && kill -9 $$; finish");
  measure();
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
  options_.timeline = "over_time";
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

TEST_F(RunningBenches, TheCommandThatGoesOnAsksForTheSame) {
  options_.suite = "full";
  options_.filter = "waves=(1|2)";
  options_.profile = "my.profile";
  options_.timeline = "it's here";
  options_.metrics = {"a.sum", "b.avg"};
  options_.benches = "";
  EXPECT_EQ(resuming_command(options_, "rows.csv"),
            "occbench run --suite full --filter 'waves=(1|2)' --profile my.profile --metrics a.sum,b.avg "
            "--timeline 'it'\\''s here' "
            "--out rows.csv --resume");
}

TEST_F(RunningBenches, WhatIsMeasuredInDepthIsForTheBinariesToDo) {
  options_.profile = "my.profile";
  options_.timeline = "over_time";
  options_.per_sm = "each_sm";
  options_.shuffle = "7";
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
  try {
    planned_benches(options_);
    FAIL();
  } catch (const CannotList& failure) {
    EXPECT_EQ(failure.status(), ExitStatus::no_verdict);
    EXPECT_THAT(failure.what(), HasSubstr("no code that the GPU can run"));
  }
}

TEST_F(RunningBenches, AFolderWithoutBinariesIsWrongUse) {
  EXPECT_THROW(planned_benches(options_), InputError);
}

}  // namespace
}  // namespace occbench
