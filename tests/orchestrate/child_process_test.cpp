#include "orchestrate/child_process.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "orchestrate/run.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class ChildProcessTest : public ::testing::Test {
 protected:
  std::string output() const {
    std::ifstream stream(output_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  TemporaryFolder folder_;
  fs::path output_ = folder_.path() / "output";
};

ProgramStart shell(const std::string& script, const fs::path& output) {
  return {.program = "/bin/sh", .arguments = {"-c", script}, .output = output};
}

/// Not even as a process that has ended and that nobody has asked about.
bool runs(pid_t process) {
  std::ifstream stream(fmt::format("/proc/{}/stat", process));
  std::string number, name, state;
  return stream >> number >> name >> state && state != "Z";
}

template <typename Condition>
bool eventually(Condition holds) {
  for (int i = 0; i < 500 && !holds(); ++i) ::usleep(10'000);
  return holds();
}

TEST_F(ChildProcessTest, WhatAProgramPrintsAndHowItEndsIsKept) {
  EXPECT_EQ(ChildProcess(shell("echo out; echo err >&2; exit 3", output_)).wait(), (Ending{.status = 3}));
  EXPECT_EQ(output(), "out\nerr\n");
  EXPECT_EQ(ChildProcess(shell("kill -9 $$", output_)).wait(), (Ending{.signal = SIGKILL}));
}

TEST_F(ChildProcessTest, ErrorsGoToAFileOfTheirOwnWhereOneIsNamed) {
  const fs::path errors = folder_.path() / "errors";
  ProgramStart start = shell("echo out; echo err >&2", output_);
  start.errors = errors;
  ChildProcess(start).wait();
  EXPECT_EQ(output(), "out\n");
  EXPECT_EQ(read_text(errors), "err\n");
}

TEST_F(ChildProcessTest, NothingIsPrintedThroughALinkOrIntoAPipeOfTheLogsName) {
  const fs::path log = folder_.path() / "log";
  fs::create_symlink("output", log);
  EXPECT_THROW(ChildProcess(shell("echo a", log)), InputError);
  EXPECT_FALSE(fs::exists(output_));
  fs::remove(log);
  ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
  EXPECT_THROW(ChildProcess(shell("echo a", log)), InputError);
}

TEST_F(ChildProcessTest, AProgramThatCannotBeStartedIsAnError) {
  EXPECT_THROW(ChildProcess(ProgramStart{"/nowhere/program", {}, output_}), std::system_error);
  EXPECT_THROW(ChildProcess(ProgramStart{"no_program_of_this_name"}), std::system_error);
  EXPECT_THROW(ChildProcess(shell("exit 0", output_ / "no" / "folder")), InputError);
}

TEST_F(ChildProcessTest, AProgramEndsWithTheProcessThatStartedItHoweverThatEnds) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    const ChildProcess process(shell("echo $$; exec sleep 100", output_));
    ::pause();
    ::_exit(0);
  }
  ASSERT_TRUE(eventually([&] { return output().ends_with('\n'); }));
  const pid_t process = std::stoi(output());
  EXPECT_TRUE(runs(process));
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return !runs(process); }));
}

TEST_F(ChildProcessTest, AProgramThatMayOutliveItsStarterGoesOnWhereThatIsKilled) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    ProgramStart start = shell("echo $$; while :; do sleep 0.01; done", output_);
    start.outlives_starter = true;
    const ChildProcess process(start);
    ::pause();
    ::_exit(0);
  }
  ASSERT_TRUE(eventually([&] { return output().ends_with('\n'); }));
  const pid_t process = std::stoi(output());
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  ::usleep(100'000);
  EXPECT_TRUE(runs(process));
  ::kill(process, SIGKILL);
}

TEST_F(ChildProcessTest, AProgramIsFoundOnThePathAndStartsWithItsOwnFolderAndEnvironment) {
  ChildProcess({.program = "sh",
                .arguments = {"-c", "pwd; echo $WORD; env | wc -l"},
                .output = output_,
                .folder = folder_.path(),
                .environment = std::vector<std::string>{"WORD=a word", "PATH=/usr/bin:/bin"}})
      .wait();
  EXPECT_TRUE(output().starts_with(fs::canonical(folder_.path()).string() + "\na word\n")) << output();
}

TEST_F(ChildProcessTest, SignalsThatThisProcessHandlesOrBlocksEndAProgramAndIgnoredOnesDoNot) {
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGINT, &action, &before);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  EXPECT_EQ(ChildProcess(shell("kill -INT $$; exit 0", output_)).wait(), (Ending{.signal = SIGINT}));
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGINT, &action, nullptr);
  EXPECT_EQ(ChildProcess(shell("kill -INT $$; exit 0", output_)).wait(), Ending{});
  ::sigaction(SIGINT, &before, nullptr);
}

TEST_F(ChildProcessTest, EveryLineOfOutputAndErrorsIsReadOnceHoweverLong) {
  std::vector<std::size_t> lengths;
  const Ending ending = run_and_read(
      {.program = "/bin/bash",
       .arguments = {"-c",
                     "head -c 300000 /dev/zero | tr '\\0' x; echo; echo err >&2; printf 'no end'; exit 5"}},
      [&](std::string_view line) { lengths.push_back(line.size()); });
  EXPECT_EQ(ending, (Ending{.status = 5}));
  EXPECT_EQ(lengths, (std::vector<std::size_t>{300'000, 3, 6}));
}

/// The tool program is a shell script here, and temporary folders lie where they can be counted.
class ToolPrograms : public ::testing::Test {
 protected:
  ToolPrograms() {
    fs::create_directory(temporaries_);
    ::setenv("TMPDIR", temporaries_.c_str(), 1);
  }
  ~ToolPrograms() override {
    ::unsetenv("TMPDIR");
  }

  /// A program that has $csv, the file for its rows.
  ToolRun run(const std::string& script, const fs::path& rows = {}) {
    std::ofstream(folder_.path() / "tool")
        << "#!/bin/bash\nfor a in \"$@\"; do case $a in --occ_csv=*) csv=${a#*=};; esac; done\n"
        << script << '\n';
    fs::permissions(folder_.path() / "tool", fs::perms::owner_all);
    Console console{out_, err_};
    return run_tool(folder_.path() / "tool", {"--occ_suite=smoke"}, rows, console);
  }

  std::string rows_and_samples() const {
    Row row;
    row.experiment = "calibration";
    row.case_ = "spin";
    const Sample sample{"calibration", "spin", "time_us", 0, 1.5};
    std::ofstream(folder_.path() / "one.csv") << csv_header() << csv_record(row);
    std::ofstream(folder_.path() / "one.samples.csv") << samples_header() << csv_record(sample);
    return "cp " + (folder_.path() / "one.csv").string() + " \"$csv\"; cp " +
           (folder_.path() / "one.samples.csv").string() + " \"${csv%.csv}.samples.csv\"";
  }

  TemporaryFolder folder_;
  fs::path temporaries_ = folder_.path() / "temporaries";
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ToolPrograms, GiveTheirCasesAndSamplesAndLeaveNothingBehind) {
  const ToolRun measured = run(rows_and_samples());
  EXPECT_EQ(measured.status, ExitStatus::done) << err_.str();
  ASSERT_EQ(measured.cases.size(), 1U);
  EXPECT_EQ(measured.cases[0].identity.name, "spin");
  EXPECT_EQ(measured.samples.size(), 1U);
  EXPECT_TRUE(fs::is_empty(temporaries_));
}

TEST_F(ToolPrograms, RowsThatAreAskedForAreKept) {
  const fs::path kept = folder_.path() / "kept.csv";
  run(rows_and_samples(), kept);
  EXPECT_EQ(read_rows(kept).size(), 1U);
}

TEST_F(ToolPrograms, OneThatFailsIsHeard) {
  const ToolRun measured = run("echo the counters are denied; exit 2");
  EXPECT_EQ(measured.status, ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("exit status 2"));
  EXPECT_THAT(err_.str(), HasSubstr("the counters are denied"));
}

TEST_F(ToolPrograms, OneThatTheUserInterruptsLeavesNothingBehindNeitherFilesNorAProcess) {
  const fs::path begun = folder_.path() / "begun";
  std::thread user([&] {
    while (!fs::exists(begun)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(fs::is_empty(temporaries_));
    ::kill(::getpid(), SIGINT);
  });
  // As a bench binary, it ends when it is asked to.
  const ToolRun measured = run("echo $$ > " + begun.string() + "; exec sleep 60");
  user.join();
  EXPECT_EQ(measured.status, ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("interrupted"));
  EXPECT_TRUE(fs::is_empty(temporaries_));
  pid_t process = 0;
  std::ifstream(begun) >> process;
  EXPECT_NE(::kill(process, 0), 0);
}

/// All lines that a shell script says through the pipe, whose number it has in $fd.
std::vector<std::string> lines_of(const std::string& script) {
  const TemporaryFolder folder;
  LinePipe pipe;
  const std::vector<std::string> arguments = {"-c", "fd=" + std::to_string(pipe.write_end()) + "; " + script};
  ChildProcess process(ProgramStart{.program = "/bin/bash",
                                    .arguments = arguments,
                                    .output = folder.path() / "log",
                                    .inherited = pipe.write_end()});
  pipe.close_write_end();
  std::vector<std::string> all;
  while (!pipe.ended()) {
    for (std::string& line : pipe.lines(10s)) all.push_back(std::move(line));
  }
  EXPECT_EQ(process.wait(), Ending{});
  return all;
}

TEST(LinePipe, GivesWholeLinesAndEndsWithTheProgram) {
  EXPECT_THAT(lines_of("printf 'one\\ntw' >&$fd; sleep 0.1; printf 'o\\n\\nthree' >&$fd"),
              ElementsAre("one", "two", ""))
      << "what the program did not end is no line";
}

TEST(LinePipe, HoldsManyMoreLinesThanAPipeDoes) {
  EXPECT_EQ(lines_of("for i in $(seq 20000); do echo 0123456789; done >&$fd").size(), 20000U);
}

TEST(LinePipe, WaitsNoLongerThanItsReaderHasPatience) {
  LinePipe pipe;
  EXPECT_TRUE(pipe.lines(1ms).empty());
  EXPECT_FALSE(pipe.ended());
  pipe.close_write_end();
  EXPECT_TRUE(pipe.lines(10s).empty());
  EXPECT_TRUE(pipe.ended());
}

}  // namespace
}  // namespace occbench
