#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "orchestrate/child_process.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

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
