#include "cli/bench_runner.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/measure_benches.hpp"
#include "cli/output_file.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/json.hpp"
#include "record/progress_lines.hpp"

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
    static_cast<void>(RunFile(options_.out, RunFile::Mode::create));
  }

  /// A binary with these cases. `body` runs for each case that has no row yet, with the case's name in $name
  /// and its row in $row; it is given `finish` to write the row and tell of it, as a case that went well
  /// does.
  void write_bench(const std::vector<std::string>& names, const std::string& body) {
    std::ofstream script(folder_ / "bench_fake");
    script << "#!/bin/bash\n"
           << "for a in \"$@\"; do case $a in --occ_list) list=1;; --occ_csv=*) csv=${a#*=};; "
           << "--occ_progress_fd=*) fd=${a#*=};; esac; done\n"
           << "finish() { printf '%s\\n' \"$row\" >> \"$csv\"; printf '%s\\n' \"$ended\" >&$fd; }\n";
    for (const std::string& name : names) {
      std::string line = csv_record(row_of(name));
      line.pop_back();
      const auto told = [](const CaseProgress& progress) {
        std::string text = progress_line(progress);
        text.pop_back();
        return text;
      };
      script << "name='" << name << "' row='" << line << "' ended='" << told(CaseEnded{row_of(name)}) << "'\n"
             << "if [[ $list ]]; then printf '%s\\n' '" << json_text(row_to_json(row_of(name)), -1) << "'\n"
             << "elif ! grep -q \",$name,\" \"$csv\"; then printf '%s\\n' '" << told(CaseBegun{name})
             << "' >&$fd; " << body << "\nfi\n";
    }
    script.close();
    fs::permissions(folder_ / "bench_fake", fs::perms::owner_all);
  }

  void run() {
    Console console{out_, err_};
    Progress progress(0, 40, console);
    const std::vector<Bench> benches = planned_benches(options_);
    BenchRunner runner(options_, options_.out, progress, console);
    for (const Bench& bench : benches) runner.run(bench);
    cases_ = runner.cases();
    something_missed_ = runner.something_missed();
  }

  /// As `occbench run --out` does. @returns what it printed
  std::string measure() {
    out_.str("");
    err_.str("");
    Console console{out_, err_};
    measure_benches(options_, planned_benches(options_), options_.out, "", console);
    return out_.str();
  }

  std::vector<std::string> verdicts() const {
    std::vector<std::string> texts;
    for (const CaseRecord& each : cases_)
      texts.push_back(fmt::format("{} {}", each.identity.name, to_string(each.times.status.value())));
    return texts;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  RunOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::vector<CaseRecord> cases_;
  bool something_missed_ = false;
};

TEST(OutputFile, IsAFileAndNotStandardOutput) {
  EXPECT_EQ(output_file("rows.csv", "smoke"), "rows.csv");
  EXPECT_THROW(output_file("-", "smoke"), InputError);
}

TEST_F(RunningBenches, PlansOnlyTheCasesOfTheShardAndAsksTheBinaryForThem) {
  write_bench({"a", "b"}, "finish");
  options_.shard = "2/2";
  const std::vector<Bench> benches = planned_benches(options_);
  ASSERT_EQ(benches.size(), 1);
  ASSERT_EQ(benches[0].cases.size(), 1);
  EXPECT_EQ(benches[0].cases[0].identity.name, "b");
  EXPECT_EQ(benches[0].filter, "^(fake/b)$");
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
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
}

TEST_F(RunningBenches, ACaseThatKillsItsProcessIsFailedAndTheOthersRun) {
  write_bench({"a", "b", "c"}, "[[ $name == b ]] && kill -9 $$; finish");
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b failed", "c ok"));
  EXPECT_THAT(cases_[1].note, HasSubstr("signal 9"));
}

TEST_F(RunningBenches, ACaseIsShownOnceWhenItEndsWhetherItsBinaryTellsOrOnlyWritesIt) {
  write_bench({"a", "b"}, "[[ $name == a ]] && finish || printf '%s\\n' \"$row\" >> \"$csv\"");
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
  for (const char* name : {"fake/a", "fake/b"}) {
    const std::size_t shown = out_.str().find(name);
    ASSERT_NE(shown, std::string::npos) << name;
    EXPECT_EQ(out_.str().find(name, shown + 1), std::string::npos) << name;
  }
}

TEST_F(RunningBenches, OnlyTheFileSaysWhatWasMeasured) {
  write_bench({"a", "b"},
              "printf 'no line of progress\\n%s\\n' \"$ended\" >&$fd; [[ $name == a ]] || finish");
  run();
  EXPECT_THAT(verdicts(), ElementsAre("b ok")) << "a was told of and has no row";
}

TEST_F(RunningBenches, ACaseWhoseProcessDiesOnceItsRowIsWrittenKeepsThatRow) {
  write_bench({"a", "b"}, "printf '%s\\n' \"$row\" >> \"$csv\"; [[ $name == a ]] && kill -9 $$");
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
}

TEST_F(RunningBenches, ABinaryThatEndsAfterItsRowsFailureIsStartedAgain) {
  write_bench({"a", "b", "c"}, "finish; [[ $name == b ]] && exit 2");
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok", "c ok"));
}

TEST_F(RunningBenches, ABinaryThatNeverBeginsIsGivenUpAndItsOutputIsShown) {
  write_bench({"a"}, "echo the driver is gone; exit 2");
  run();
  EXPECT_TRUE(cases_.empty());
  EXPECT_THAT(err_.str(), HasSubstr("the driver is gone"));
}

TEST_F(RunningBenches, AFlagThatOnlyABinaryCanJudgeIsWrongUseInItsWords) {
  options_.metrics = {"no_such_metric"};
  static_cast<void>(RunFile(options_.out, RunFile::Mode::create, options_.metrics));
  write_bench({"a"}, "echo \"$*: the nearest is another_metric\"; exit 64");
  try {
    run();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--occ_metrics=no_such_metric"));
    EXPECT_THAT(error.what(), HasSubstr("another_metric"));
  }
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
  run();
  const std::string asked = read_text(options_.out + ".asked");
  EXPECT_THAT(
      asked,
      HasSubstr(
          "--occ_device_profile=my.profile --occ_timeline=over_time --occ_per_sm=each_sm --occ_shuffle=7"));
  EXPECT_THAT(asked, Not(HasSubstr("--occ_metrics")));
}

TEST_F(RunningBenches, ABinaryThatCouldNotMeasureSomethingBesideItsRowsIsHeard) {
  write_bench({"a", "b"}, "finish");
  run();
  EXPECT_FALSE(something_missed_);
  static_cast<void>(RunFile(options_.out, RunFile::Mode::create));
  write_bench({"a", "b"}, "finish; [[ $name == b ]] && exit 2");
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
  EXPECT_TRUE(something_missed_);
}

TEST_F(RunningBenches, WhatTheFileHasAlreadyIsNotRunAgain) {
  write_bench({"a", "b"}, "[[ $name == a ]] && kill -9 $$; finish");
  RunFile(options_.out, RunFile::Mode::resume).append(row_of("a"), {});
  run();
  EXPECT_THAT(verdicts(), ElementsAre("a ok", "b ok"));
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
