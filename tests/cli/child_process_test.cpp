#include "cli/child_process.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "record/files.hpp"

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

std::vector<std::string> shell(const std::string& script) {
  return {"-c", script};
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
  EXPECT_EQ(ChildProcess("/bin/sh", shell("echo out; echo err >&2; exit 3"), output_).wait(),
            (Ending{.status = 3}));
  EXPECT_EQ(output(), "out\nerr\n");
  EXPECT_EQ(ChildProcess("/bin/sh", shell("kill -9 $$"), output_).wait(), (Ending{.signal = SIGKILL}));
}

TEST_F(ChildProcessTest, ErrorsGoToAFileOfTheirOwnWhereOneIsNamed) {
  const fs::path errors = folder_.path() / "errors";
  ChildProcess("/bin/sh", shell("echo out; echo err >&2"), output_, std::nullopt, errors).wait();
  EXPECT_EQ(output(), "out\n");
  EXPECT_EQ(read_text(errors), "err\n");
}

TEST_F(ChildProcessTest, AProgramThatCannotBeStartedIsAnError) {
  EXPECT_THROW(ChildProcess("/nowhere/program", {}, output_), std::system_error);
  EXPECT_THROW(ChildProcess("/bin/sh", {}, output_ / "no" / "folder"), std::system_error);
}

TEST_F(ChildProcessTest, AProgramEndsWithTheProcessThatStartedItHoweverThatEnds) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    const ChildProcess process("/bin/sh", shell("echo $$; exec sleep 100"), output_);
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

}  // namespace
}  // namespace occbench
