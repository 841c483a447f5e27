#include <sstream>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gpu_option.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Command, ListsEverySubcommandOnHelp) {
  const Outcome help = run_command({"--help"});
  EXPECT_EQ(help.status, ExitStatus::done);
  for (const Command& command : commands()) EXPECT_THAT(help.out, HasSubstr(command.name));
  EXPECT_THAT(help.err, IsEmpty());
}

TEST(Command, HelpFitsATerminalOf120Columns) {
  for (const Command& command : commands()) {
    std::istringstream help(run_command({std::string(command.name).c_str(), "--help"}).out);
    int options = 0;
    for (std::string line; std::getline(help, line);) {
      if (!line.starts_with("  ")) continue;
      ++options;
      EXPECT_LE(line.size(), 120) << command.name << line;
    }
    EXPECT_GT(options, 0) << command.name;
  }
}

TEST(Command, EndsWith64OnWrongUseAndPrintsNoData) {
  using Arguments = std::initializer_list<const char*>;
  for (const Arguments wrong :
       {Arguments{}, Arguments{"calculate"}, Arguments{"calc", "--blocksize", "32"},
        Arguments{"calc", "--block-size", "many"}, Arguments{"calc", "--format", "xml"}}) {
    const Outcome outcome = run_command(wrong);
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("occbench: "));
  }
}

TEST(Command, WithoutAGpuTheListOfCasesIsThatOfTheRecordedSuite) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  const Outcome listed = run_command({"run", "--list", "--filter", "^waves/.*waves=0"});
  EXPECT_EQ(listed.status, ExitStatus::done) << listed.err;
  EXPECT_EQ(listed.out,
            "waves/spin/plain/waves=0.25\nwaves/spin/plain/waves=0.50\nwaves/spin/plain/waves=0.75\n");
  EXPECT_THAT(listed.err, HasSubstr("depends on the GPU"));
}

TEST(Command, WithoutAGpuAFileThatWasAskedForIsNotMeasured) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  for (const char* asked : {"--out", "--benches"}) {
    const Outcome outcome = run_command({"run", asked, "no_such_place.csv"});
    EXPECT_EQ(outcome.status, ExitStatus::no_verdict) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(".csv is not written"));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_EQ(run_command({"run", "--filter", "^waves/.*waves=0.25"}).status, ExitStatus::done);
}

TEST(Command, NamesTheWordThatWasWrong) {
  EXPECT_THAT(run_command({"calculate", "--cc", "9.0"}).err,
              HasSubstr("there is no command 'calculate'; there are run, "));
  EXPECT_THAT(run_command({"--calc"}).err, HasSubstr("there is no command '--calc'"));
  EXPECT_THAT(run_command({}).err, HasSubstr("a command is needed; there are run, "));
  EXPECT_THAT(run_command({"calc", "more"}).err, HasSubstr("not expected: more"));
  for (const char* number : {"many", "12.5", "99999999999"}) {
    EXPECT_THAT(
        run_command({"calc", "--block-size", number}).err,
        HasSubstr(fmt::format("--block-size = '{}' is not a whole number from 0 to 2147483647", number)));
  }
}

// Octal, hexadecimal, empty, infinite and too large: each command refuses them, by name, before it does anything.
TEST(Options, ThatAreNumbersAreDecimalWholeInRangeAndNeverEmpty) {
  struct Numbers {
    std::vector<const char*> command;
    std::vector<const char*> whole;
    std::vector<const char*> real;
  };
  const std::vector<Numbers> all = {
      {{"calc", "--cc", "9.0"},
       {"--block-size", "--registers", "--carveout", "--barriers", "--cluster", "--grid", "--sm-count"},
       {}},
      {{"calc", "--cc", "9.0", "--block-size", "64", "--registers", "32"}, {"--gpc-sms"}, {}},
      {{"predict", "--gpu", "h200"},
       {"--block-size", "--registers", "--carveout", "--cluster", "--grid", "--seed", "--first-gpc"},
       {"--time-us", "--sm-cycles-active-avg", "--clock-mhz"}},
      {{"explain", "--cc", "9.0"},
       {"--block-size", "--registers", "--grid", "--carveout", "--cluster", "--barriers", "--sm-count",
        "--top"},
       {"--achieved", "--time-us", "--sm-cycles-active-avg", "--resident-blocks"}},
      {{"gate", "--pair", "a", "b"}, {"--pairs"}, {}},
      {{"trace", "--import", "x.json"}, {"--top"}, {"--clock-mhz"}},
      {{"trace"}, {"--after"}, {}},
      {{"run"}, {"--device"}, {}},
      {{"calibrate"}, {"--device"}, {}},
      {{"sweep", "spin"}, {"--device"}, {}},
  };
  for (const Numbers& numbers : all) {
    const auto refuses = [&](const char* option, const char* value) {
      std::vector<const char*> arguments = numbers.command;
      arguments.insert(arguments.end(), {option, value});
      const Outcome outcome = run_command(arguments);
      EXPECT_EQ(outcome.status, ExitStatus::usage) << option << " '" << value << "'";
      EXPECT_THAT(outcome.err, HasSubstr(option)) << "'" << value << "'";
      EXPECT_THAT(outcome.out, IsEmpty());
    };
    for (const char* option : numbers.whole) {
      for (const char* value : {"", " ", "1.5", "0x10", "1e3", "99999999999999999999", "12x", "+"})
        refuses(option, value);
    }
    for (const char* option : numbers.real) {
      for (const char* value : {"", "inf", "nan", "0x1p3", "1e999", "many"}) refuses(option, value);
    }
  }
}

TEST(Options, WithALeadingZeroAreDecimal) {
  const auto answer_for = [](const char* threads) {
    return run_command(
               {"calc", "--cc", "9.0", "--block-size", threads, "--registers", "32", "--format", "csv"})
        .out;
  };
  EXPECT_EQ(answer_for("0256"), answer_for("256"));
  EXPECT_NE(answer_for("0256"), answer_for("174")) << "octal";
}

}  // namespace
}  // namespace occbench
