// The command as a process of its own: standard output that is full, a terminal, devices, what swallows what follows.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSuite = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv";

class Hostile : public ::testing::Test {
 protected:
  /// As a shell runs it in the folder of the test; $OCCBENCH is the program. @returns its status
  int shell(const std::string& command) const {
    ::setenv("OCCBENCH", OCCBENCH_PROGRAM, 1);
    const int status = std::system(fmt::format("cd '{}' && {}", folder_.path().string(), command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return folder_.path() / name;
  }
  std::string read(const std::string& name) const {
    return read_text(folder_.path() / name);
  }

  TemporaryFolder folder_;
};

TEST_F(Hostile, AFullStandardOutputIsAStatusAndAMessage) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  for (const std::string& command :
       {std::string("columns"), std::string("--help"),
        std::string("calc --cc 9.0 --block-size 256 --registers 32"),
        std::string("calc --limits --format csv"),
        std::string("predict --gpu h200 --block-size 256 --registers 32 --grid 500 --work equal:2000"),
        "explain --format csv --top 3 " + kSuite, "explain --format json --top 3 " + kSuite,
        "gate " + kSuite + " " + kSuite, "fleet " + kSuite, "merge -o merged.csv " + kSuite}) {
    EXPECT_NE(shell("\"$OCCBENCH\" " + command + " > /dev/full 2> err"), 0) << command;
    EXPECT_THAT(read("err"), HasSubstr("standard output could not be written")) << command;
  }
  EXPECT_EQ(shell("\"$OCCBENCH\" columns >&- 2> err"), 64);
  EXPECT_EQ(shell("\"$OCCBENCH\" columns > out 2> err"), 0);
}

TEST_F(Hostile, ARegressionStaysARegressionOnAFullStandardOutput) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  std::vector<Row> rows = read_rows(kSuite);
  std::string slower = csv_header();
  for (Row& row : rows) {
    if (row.registers_per_thread) *row.registers_per_thread += 1;
    slower += csv_record(row);
  }
  write("slower.csv", slower);
  EXPECT_EQ(shell("\"$OCCBENCH\" gate " + kSuite + " slower.csv > /dev/full 2> err"), 1);
}

TEST_F(Hostile, NoOutputTakesThePlaceOfADeviceAFifoOrALink) {
  if (::mknod((folder_.path() / "device").c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0)
    GTEST_SKIP() << "mknod is not permitted here";
  ASSERT_EQ(::mkfifo((folder_.path() / "fifo").c_str(), 0600), 0);
  fs::create_symlink("device", folder_.path() / "link");
  fs::create_symlink("circle", folder_.path() / "circle");
  fs::create_directory(folder_.path() / "folder");
  write("rows.csv", read_text(kSuite));
  for (const std::string name : {"device", "fifo", "link", "circle", "folder"}) {
    for (const std::string& command :
         {"report rows.csv -o " + name, "merge rows.csv -o " + name, "fleet rows.csv --page " + name,
          "gate rows.csv rows.csv --write json=" + name,
          "gate --tolerances-from rows.csv rows.csv --save-tolerances " + name,
          "run --rehearse rows.csv --filter waves/ --out " + name,
          "calibrate --rows " OCCBENCH_SOURCE_DIR "/results/nvidia-h200/calibration.csv --out " + name,
          "trace --out " + name + " -- true"}) {
      if (name == "circle" && command.starts_with("trace")) continue;  // it has no rows to write
      const int status = shell("timeout 60 \"$OCCBENCH\" " + command + " > out 2> err");
      EXPECT_TRUE(status == 64 || command.starts_with("trace")) << command << ": " << status << read("err");
      EXPECT_THAT(read("err"), Not(HasSubstr("internal fault"))) << command;
    }
  }
  EXPECT_TRUE(fs::is_character_file(folder_.path() / "device"));
  EXPECT_TRUE(fs::is_fifo(folder_.path() / "fifo"));
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "circle"));
  EXPECT_TRUE(fs::is_empty(folder_.path() / "folder"));
  EXPECT_EQ(read_text(kSuite), read("rows.csv"));
}

TEST_F(Hostile, AnInputOrItsSamplesIsNeverAnOutput) {
  const std::string rows = read_text(kSuite);
  write("rows.csv", rows);
  write("rows.samples.csv", samples_header());
  write("t.json", "{}");
  for (const std::string name : {"rows.csv", "./rows.csv", "rows.samples.csv"}) {
    for (const std::string& command :
         {"report rows.csv -o " + name, "merge rows.csv -o " + name, "fleet rows.csv --page " + name,
          "gate rows.csv rows.csv --write json=" + name,
          "gate --tolerances-from rows.csv rows.csv --save-tolerances " + name,
          "run --rehearse rows.csv --filter waves/ --out " + name,
          "calibrate --rows rows.csv --out " + name}) {
      EXPECT_EQ(shell("\"$OCCBENCH\" " + command + " > out 2> err"), 64) << command << read("err");
    }
  }
  EXPECT_EQ(read("rows.csv"), rows);
  EXPECT_EQ(read("rows.samples.csv"), samples_header());
}

TEST_F(Hostile, AnOptionDoesNotSwallowWhatFollowsItsValue) {
  // All four files are judged or refused by their contents; none becomes a peer unasked.
  std::vector<Row> rows = read_rows(kSuite);
  std::erase_if(rows, [](const Row& row) { return row.experiment != "waves"; });
  std::vector<std::string> files;
  for (int gpu = 1; gpu <= 5; ++gpu) {
    std::string text = csv_header();
    for (Row& row : rows) {
      row.gpu_uuid = fmt::format("GPU-{}", gpu);
      text += csv_record(row);
    }
    files.push_back(write(fmt::format("g{}.csv", gpu), text).string());
  }
  const Outcome outcome = run_command(
      {"fleet", "--baseline", files[0], files[1], files[2], files[3], files[4], "--format", "json"});
  for (int gpu = 2; gpu <= 5; ++gpu)
    EXPECT_THAT(outcome.out, HasSubstr(fmt::format("GPU-{}\"", gpu))) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("GPU-1\"")));

  EXPECT_NE(shell("\"$OCCBENCH\" gate --write json=x g1.csv g1.csv > out 2> err"), 64) << read("err");
  EXPECT_THAT(read("x"), HasSubstr("\"verdict\""));
  EXPECT_NE(run_command({"gate", "--tolerances-from", files[0], files[1], "--", files[0], files[0]}).status,
            ExitStatus::usage);
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
