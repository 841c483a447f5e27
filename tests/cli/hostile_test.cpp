// The command as a process of its own: standard output that is full, a terminal, devices, what swallows what follows.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <pty.h>
#include <set>
#include <span>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "orchestrate/terminal.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// The cases of one experiment of a recorded suite.
const std::vector<Row>& recorded_waves() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all = read_rows(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv");
    std::erase_if(all, [](const Row& row) { return row.experiment != "waves"; });
    return all;
  }();
  return rows;
}

std::string text_of(std::span<const Row> rows) {
  std::string text = csv_header();
  for (const Row& row : rows) text += csv_record(row);
  return text;
}

class Hostile : public ::testing::Test {
 protected:
  /// As a shell runs it in the folder of the test; $OCCBENCH is the program. @returns its status
  int shell(const std::string& command) const {
    ::setenv("OCCBENCH", OCCBENCH_PROGRAM, 1);
    const int status =
        std::system(fmt::format("cd '{}' || exit; {}", folder_.path().string(), command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return folder_.path() / name;
  }
  /// The recorded cases as another GPU would have them. @returns the file's path
  std::string write_as(const std::string& name, const std::string& uuid, double time_factor = 1) const {
    std::vector<Row> rows = recorded_waves();
    for (Row& row : rows) {
      row.gpu_uuid = uuid;
      if (row.time_us) *row.time_us *= time_factor;
    }
    return write(name, text_of(rows)).string();
  }
  std::string read(const std::string& name) const {
    return read_text(folder_.path() / name);
  }

  TemporaryFolder folder_;
};

TEST_F(Hostile, AFullStandardOutputIsAStatusAndAMessage) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  write("rows.csv", text_of(recorded_waves()));
  for (const std::string& command :
       {std::string("columns"), std::string("--help"),
        std::string("calc --cc 9.0 --block-size 256 --registers 32"),
        std::string("calc --limits --format csv"),
        std::string("predict --gpu h200 --block-size 256 --registers 32 --grid 500 --work equal:2000"),
        std::string("explain --format csv rows.csv"), std::string("explain --format json rows.csv"),
        std::string("gate rows.csv rows.csv"), std::string("fleet rows.csv"),
        std::string("merge -o merged.csv rows.csv")}) {
    EXPECT_NE(shell("\"$OCCBENCH\" " + command + " > /dev/full 2> err"), 0) << command;
    EXPECT_THAT(read("err"), HasSubstr("standard output could not be written")) << command;
  }
  EXPECT_EQ(shell("\"$OCCBENCH\" columns >&- 2> err"), 64);
  shell("(trap '' PIPE; sleep 0.3; \"$OCCBENCH\" calc --gpu list 2> err) | true");
  EXPECT_EQ(read("err"), "") << "its reader has enough";
  EXPECT_EQ(shell("\"$OCCBENCH\" columns > out 2> err"), 0);
}

TEST_F(Hostile, ARegressionStaysARegressionOnAFullStandardOutput) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  std::vector<Row> rows = recorded_waves();
  write("rows.csv", text_of(rows));
  for (Row& row : rows) *row.registers_per_thread += 1;
  write("slower.csv", text_of(rows));
  EXPECT_EQ(shell("\"$OCCBENCH\" gate rows.csv slower.csv > /dev/full 2> err"), 1);
}

TEST_F(Hostile, AnOptionDoesNotSwallowWhatFollowsItsValue) {
  std::vector<std::string> files;
  for (int run = 1; run <= 3; ++run)
    files.push_back(write_as(fmt::format("g{}.csv", run), "GPU-1", 1 + 0.001 * run));
  EXPECT_NE(shell("\"$OCCBENCH\" gate --write json=x g1.csv g1.csv > out 2> err"), 64) << read("err");
  EXPECT_THAT(read("x"), HasSubstr("\"verdict\""));
  EXPECT_NE(run_command({"gate", "--tolerances-from", files[0], files[1], "--", files[0], files[2]}).status,
            ExitStatus::usage);
  // The file behind a chart's name is the one to report on.
  shell("\"$OCCBENCH\" report --chart waves nothing.csv -o y.html > out 2> err");
  EXPECT_THAT(read("err"), HasSubstr("nothing.csv"));
}

TEST_F(Hostile, APipeWhereReadingsWouldBeIsRefusedAndNotWaitedFor) {
  write("a.csv", text_of(recorded_waves()));
  write("b.csv", text_of(recorded_waves()));
  ASSERT_EQ(::mkfifo((folder_.path() / "a.samples.csv").c_str(), 0600), 0);
  for (const char* command : {"merge a.csv b.csv -o c.csv", "gate a.csv b.csv", "gate b.csv a.csv"}) {
    EXPECT_EQ(shell(fmt::format("timeout 20 \"$OCCBENCH\" {} > out 2> err", command)), 64) << command;
    EXPECT_THAT(read("err"), HasSubstr("a.samples.csv is no regular file")) << command;
  }
}

TEST_F(Hostile, WhatWaitsForAPipeEndsAtASignal) {
  write("a.csv", text_of(recorded_waves()));
  ASSERT_EQ(::mkfifo((folder_.path() / "p").c_str(), 0600), 0);
  for (const char* writer : {"", "sleep 9 > p & ", "{ head -c 3000 a.csv; sleep 9; } > p & "}) {
    for (const auto& [name, number] : {std::pair("INT", SIGINT), std::pair("TERM", SIGTERM)}) {
      for (const std::string& command :
           std::initializer_list<std::string>{"merge a.csv p -o o.csv", "merge a.csv /dev/stdin -o o.csv < p",
                                              "explain p", "predict --batch - < p", "report p -o o.html"}) {
        if (command.ends_with("< p") && std::string_view(writer).empty()) continue;  // the shell would wait
        const int status =
            shell(fmt::format("{}timeout --preserve-status -k 6 -s {} 0.2 \"$OCCBENCH\" {} > out 2> err; "
                              "s=$?; [ -z \"$!\" ] || kill $! 2> kill; exit $s",
                              writer, name, command));
        const bool is_merge = command.starts_with("merge");
        const bool is_refused = command.starts_with("report");
        // Before it reads anything, a signal does what it does to all.
        if (status == 128 + number) continue;
        EXPECT_EQ(status, is_merge ? 2 : 64) << writer << name << " " << command;
        EXPECT_TRUE(is_merge || is_refused) << command;
        EXPECT_THAT(read("err"),
                    HasSubstr(is_merge ? "interrupted; nothing is written" : "p is no regular file"));
        EXPECT_FALSE(fs::exists(folder_.path() / "o.csv"));
      }
    }
  }
}

TEST_F(Hostile, APipeIsReadToItsEndHoweverLateItsWriterComes) {
  write("a.csv", text_of(recorded_waves()));
  ASSERT_EQ(::mkfifo((folder_.path() / "p").c_str(), 0600), 0);
  const std::string piecewise = "(sleep 0.3; { head -c 3000 a.csv; sleep 0.3; tail -c +3001 a.csv; } > p) & ";
  EXPECT_EQ(shell(piecewise + "timeout 20 \"$OCCBENCH\" merge p -o o.csv > out 2> err; s=$?; wait; exit $s"),
            0);
  EXPECT_EQ(read("o.csv"), read("a.csv"));
  EXPECT_EQ(shell("gzip -c a.csv | \"$OCCBENCH\" merge /dev/stdin -o g.csv > out 2> err"), 0);
  EXPECT_EQ(read("g.csv"), read("a.csv"));
}

TEST_F(Hostile, APipeWhereOtherFilesOfOursWouldBeIsNotWaitedFor) {
  write("a.csv", text_of(recorded_waves()));
  write("a.samples.csv", samples_header());
  for (const char* name : {"o.samples.csv.gz", "t.7.entries"})
    ASSERT_EQ(::mkfifo((folder_.path() / name).c_str(), 0600), 0);
  EXPECT_EQ(shell("timeout -k 1 20 \"$OCCBENCH\" merge a.csv -o o.csv > out 2> err"), 64) << read("err");
  EXPECT_THAT(read("err"), HasSubstr("o.samples.csv.gz is no regular file"));
  EXPECT_FALSE(fs::exists(folder_.path() / "o.csv"));
  EXPECT_TRUE(fs::is_fifo(folder_.path() / "o.samples.csv.gz"));
  write("precious", "precious");
  fs::create_symlink("precious", folder_.path() / "l.samples.csv.gz");
  EXPECT_EQ(shell("\"$OCCBENCH\" merge a.csv -o l.csv > out 2> err"), 0) << read("err");
  EXPECT_EQ(read("precious"), "precious");
  for (const char* command : {"trace --out t.csv -- touch ran", "trace --merge --out t.csv"}) {
    EXPECT_EQ(shell(fmt::format("timeout -k 1 20 \"$OCCBENCH\" {} > out 2> err", command)), 64) << command;
    EXPECT_THAT(read("err"), HasSubstr("t.7.entries is no regular file")) << command;
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "ran"));
}

// Where AddressSanitizer looks for leaks, also that the library is not one.
TEST_F(Hostile, ACommandThatUsesNoCudaEndsAsItDoesWithoutTrace) {
  EXPECT_EQ(shell("\"$OCCBENCH\" trace --out t.csv -- true > out 2> err"), 0) << read("err");
  EXPECT_EQ(shell("\"$OCCBENCH\" trace --out t.csv -- false > out 2> err"), 1) << read("err");
}

TEST_F(Hostile, AGpuIsNoPeerOfItself) {
  std::vector<std::string> files;
  for (int gpu = 1; gpu <= 4; ++gpu)
    files.push_back(write_as(fmt::format("g{}.csv", gpu), fmt::format("GPU-{}", gpu), gpu == 1 ? 1.3 : 1));
  std::vector<std::string> arguments = {"fleet", "--format", "json"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  const Outcome alone = run_command(arguments);
  arguments.insert(arguments.end(), {"--baseline", files[0]});
  const Outcome with_itself = run_command(arguments);
  constexpr std::string_view kRemark =
      R"("the baseline has 0 of the 3 other GPUs that it needs: the judged GPUs are peers as well")";
  std::string answers = with_itself.out;
  for (std::size_t at = 0; (at = answers.find(kRemark)) != answers.npos;) answers.erase(at, kRemark.size());
  EXPECT_EQ(answers, alone.out);
  EXPECT_EQ(with_itself.status, alone.status);
}

TEST_F(Hostile, ARowThatCannotBeExplainedLeavesNoHalfOfAnArray) {
  std::vector<Row> rows = recorded_waves();
  rows[1].barriers = 90;
  const Outcome outcome =
      run_command({"explain", "--format", "json", write("rows.csv", text_of(rows)).string()});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("barriers = 90"));
}

TEST_F(Hostile, WrongFilesAndFoldersAreWrongInput) {
  write("rows.csv", text_of(recorded_waves()));
  const std::string longest(300, 'x');
  for (const std::string& command : std::initializer_list<std::string>{
           "predict --profile . --block-size 256 --registers 32 --grid 500 --work equal:2000",
           "predict --profile /dev/zero --max-size 1M --block-size 256 --registers 32 --grid 500 --work "
           "equal:2000",
           "explain --profile .. rows.csv",
           "explain " + longest,
           "explain .",
           "gate . " + longest,
           "gate rows.csv " + longest,
           "merge rows.csv -o .",
           "merge rows.csv -o " + longest,
           "merge . -o all.csv",
           "merge " + longest + " -o all.csv",
           "report rows.csv -o .",
           "report rows.csv --pictures rows.csv",
           "report rows.csv -o " + longest,
           "fleet . ",
           "fleet rows.csv --page .",
           "trace --import . --out x.csv",
           "trace --import " + longest + " --out x.csv",
           "calc --from .",
           "calc --from " + longest,
           "calc --batch .",
           "calc --batch /dev/zero --max-size 1M",
           "predict --batch .",
           "calibrate --rows .",
           "validate --rows .",
           "run --rehearse . --out x.csv",
           "run --rehearse rows.csv --out " + longest,
           "explain /dev/zero --max-size 1M",
           "explain rows.csv --max-size 0",
           "explain rows.csv --max-size ''",
           "TMPDIR=/no/such/folder calc --from rows.csv"}) {
    const bool with_variable = command.starts_with("TMPDIR");
    const std::string variable = with_variable ? command.substr(0, command.find(' ')) : "";
    const std::string rest = with_variable ? command.substr(command.find(' ') + 1) : command;
    EXPECT_EQ(shell(variable + " timeout 60 \"$OCCBENCH\" " + rest + " > out 2> err"), 64) << command << "\n"
                                                                                           << read("err");
    EXPECT_THAT(read("err"), Not(HasSubstr("internal fault"))) << command;
    EXPECT_EQ(read("out"), "") << command;
  }
}

// AddressSanitizer's own memory and checks at the end of a process are in the way of a limit on memory: tests that
// set one are in the build without sanitizers alone.
#ifndef __SANITIZE_ADDRESS__
TEST_F(Hostile, NoExpressionTakesACommandLongOrBreaksIt) {
  std::vector<Row> rows = recorded_waves();
  rows.resize(2);
  rows[0].case_ = std::string(36, 'a') + "!";
  rows[1].case_ = std::string(28'000, 'a') + "!";
  write("rows.csv", text_of(rows));
  write("long", std::string(58'000, 'x'));
  write("open", std::string(16'000, '('));
  write("deep", std::string(16'000, '(') + std::string(16'000, ')'));
  for (const std::string& expression : std::initializer_list<std::string>{
           "'(a+)+$'", "'(a|a)*$'", "'(a*)*b'", "'.*b'", "\"$(cat long)\"", "\"$(cat open)\"",
           "\"$(cat deep)\"", "'-(a+)+$'", "'(?P<x>a)(?P<x>a)'", "'\\1'"}) {
    for (const std::string& command : std::initializer_list<std::string>{
             "explain rows.csv --filter ", "run --list --rehearse rows.csv --filter ",
             "report rows.csv --filter ",
             "trace --import " OCCBENCH_SOURCE_DIR "/README.md --out x.csv --kernels ", "trace --kernels "}) {
      const std::string last = command.starts_with("trace --kernels") ? " -- true" : "";
      const int status = shell("timeout 20 \"$OCCBENCH\" " + command + expression + last + " > out 2> err");
      EXPECT_TRUE(status == 0 || status == 64)
          << status << " " << command << expression.substr(0, 30) << read("err");
    }
  }
}

TEST_F(Hostile, FilesThatHoldMoreThanTheySeemToAreRefusedAtTheLimit) {
  ASSERT_EQ(shell("head -c 64M /dev/zero | tr '\\0' 0 | gzip > bomb.gz"), 0);
  ASSERT_EQ(
      shell("(printf '{\"traceEvents\": [\"'; head -c 64M /dev/zero | tr '\\0' 0) | gzip > bomb.json.gz"), 0);
  ASSERT_LT(fs::file_size(folder_.path() / "bomb.gz"), 100'000u);
  write("rows.csv", text_of(recorded_waves()));
  fs::copy_file(folder_.path() / "bomb.gz", folder_.path() / "rows.samples.csv.gz");
  for (const std::string& command : std::initializer_list<std::string>{
           "gate rows.csv rows.csv", "explain bomb.gz", "trace --import bomb.json.gz --out x.csv",
           "predict --batch bomb.gz", "calc --batch bomb.gz", "report bomb.gz", "validate --rows bomb.gz",
           "calibrate --rows rows.csv", "gate rows.csv rows.csv --tolerances bomb.gz",
           "run --rehearse bomb.gz --out x.csv"}) {
    EXPECT_EQ(shell("ulimit -v 2000000; \"$OCCBENCH\" " + command + " --max-size 8M > out 2> err"), 64)
        << command;
    EXPECT_THAT(read("err"), HasSubstr("it holds more than 8388608 bytes; --max-size SIZE raises this limit"))
        << command;
  }
  // A merge has one row in memory at a time, whatever the file's size.
  EXPECT_EQ(shell("\"$OCCBENCH\" merge bomb.gz -o x.csv > out 2> err"), 64);
  EXPECT_THAT(read("err"), HasSubstr("line 1: a row of more than"));
}

TEST_F(Hostile, ANameThatStandsForGigabytesIsImportedAsItIs) {
  std::string name = "_Z1f1PIiiE";
  for (int pair = 0; pair < 33; ++pair) {
    const char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[pair];
    name += fmt::format("S_IS{}_S{}_E", digit, digit);
  }
  write("t.json",
        fmt::format(
            R"({{"deviceProperties": [{{"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, )"
            R"("computeMinor": 0, "warpSize": 32, "numSms": 132}}], "traceEvents": [{{"cat": "kernel", )"
            R"("name": "{}", "dur": 5, "args": {{"device": 0, "grid": [64, 1, 1], "block": [128, 1, 1], )"
            R"("registers per thread": 32, "shared memory": 0}}}}]}})",
            name));
  EXPECT_EQ(
      shell("ulimit -v 2000000; timeout 20 \"$OCCBENCH\" trace --import t.json --out x.csv > out 2> err"), 0)
      << read("err");
  EXPECT_EQ(read_rows(folder_.path() / "x.csv").at(0).kernel, name);
}

// Under it, half a minute: most waves are skipped, and a quarter of a million blocks are not.
TEST_F(Hostile, TheLargestGridOfEqualBlocksIsPredictedAndAdvised) {
  EXPECT_EQ(shell("\"$OCCBENCH\" predict --gpu h200 --block-size 768 --registers 32 --work equal:20000 "
                  "--grid 2147483647 > out"),
            0);
  // Twice as many blocks would be more than a grid has.
  EXPECT_THAT(read("out"), HasSubstr("1,610,612,736 blocks of 1024 threads would take 25 % less time"));
}
#endif

TEST_F(Hostile, NoLockIsWrittenThroughALink) {
  write("rows.csv", text_of(recorded_waves()));
  write("precious", "precious\n");
  fs::create_symlink("precious", folder_.path() / "x.csv.lock");
  for (const std::string& command :
       std::initializer_list<std::string>{"run --rehearse rows.csv --filter waves/ --out x.csv",
                                          "merge rows.csv -o x.csv", "trace --out x.csv -- true"}) {
    EXPECT_EQ(shell("\"$OCCBENCH\" " + command + " > out 2> err"), 64) << command;
    EXPECT_THAT(read("err"), HasSubstr("x.csv.lock is a symbolic link")) << command;
  }
  EXPECT_EQ(read("precious"), "precious\n");
}

TEST_F(Hostile, TwoMergesAtOnceWriteNoMixture) {
  write_as("A.csv", "A");
  write_as("B.csv", "B");
  for (int round = 0; round < 6; ++round) {
    shell(
        "{ \"$OCCBENCH\" merge A.csv -o x.csv > a 2>&1 & \"$OCCBENCH\" merge B.csv -o x.csv > b 2>&1; wait; "
        "}");
    std::set<std::string> gpus;
    const std::vector<Row> rows = read_rows(folder_.path() / "x.csv");
    for (const Row& row : rows) gpus.insert(row.gpu_uuid);
    EXPECT_EQ(gpus.size(), 1u);
    EXPECT_EQ(rows.size(), recorded_waves().size());
  }
}

TEST_F(Hostile, AFileHasNamesAsTheyAreWhateverATerminalWouldObey) {
  std::vector<Row> rows = recorded_waves();
  rows[0].kernel += "a\x1b[2J\xe2\x80\xae";
  write("rows.csv", text_of(rows));
  EXPECT_EQ(shell("\"$OCCBENCH\" explain --format csv rows.csv > out 2> err"), 0);
  EXPECT_THAT(read("out"), HasSubstr(rows[0].kernel));
}

TEST_F(Hostile, WhatTakesLongSaysSoFromTwoSecondsOnAndCtrlCEndsItAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process == 0) {
    ::execl(OCCBENCH_PROGRAM, "occbench", "predict", "--gpu", "h200", "--block-size", "256", "--registers",
            "32", "--grid", "60000000", "--work", "lognormal:2000:0.5", nullptr);
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> piece;
  const auto read_on = [&] {
    const ssize_t read = ::read(terminal, piece.data(), piece.size());
    if (read > 0) text.append(piece.data(), static_cast<std::size_t>(read));
    return read > 0;
  };
  while (text.find("Ctrl-C ends it") == std::string::npos && read_on()) {
  }
  EXPECT_THAT(text, HasSubstr("predicting 60,000,000 blocks: 2 s; Ctrl-C ends it"));
  EXPECT_LT(seconds(), 6);
  const double pressed = seconds();
  ASSERT_TRUE(write_all(terminal, "\x03"));
  while (read_on()) {
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  ::close(terminal);
  EXPECT_LT(seconds() - pressed, 1.5);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST(Printable, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(printable("kernel<float>(int) \t\xc3\xa9 \xe2\x96\x88 \xf0\x9f\x98\x80\n"),
            "kernel<float>(int) \t\xc3\xa9 \xe2\x96\x88 \xf0\x9f\x98\x80\n");
  EXPECT_EQ(printable("a\x1b[31mb\x07\r\x08\x7f"), "a\\x1b[31mb\\x07\\x0d\\x08\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m")
      << "CSI as one character";
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "\\u202ex")
      << "the rest of the line would run backwards";
  EXPECT_EQ(printable("\x9b"
                      "31m \xff \xc3"),
            "\\x9b31m \\xff \\xc3")
      << "no UTF-8";
  EXPECT_EQ(printable("\xe0\x80\x9b \xed\xa0\x80"), "\\xe0\\x80\\x9b \\xed\\xa0\\x80")
      << "too long, half a pair";
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
}

}  // namespace
}  // namespace occbench
