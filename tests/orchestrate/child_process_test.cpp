#include "orchestrate/child_process.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

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

TEST_F(ChildProcessTest, AProgramThatCannotBeStartedIsAnError) {
  EXPECT_THROW(ChildProcess(ProgramStart{"/nowhere/program", {}, output_}), std::system_error);
  EXPECT_THROW(ChildProcess(ProgramStart{"no_program_of_this_name"}), std::system_error);
  EXPECT_THROW(ChildProcess(shell("exit 0", output_ / "no" / "folder")), std::system_error);
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

}  // namespace
}  // namespace occbench
