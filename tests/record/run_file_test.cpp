#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/lock.hpp"
#include "files/output.hpp"
#include "files/stop_signals.hpp"
#include "in_a_child.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/progress_lines.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

class RunFileTest : public testing::Test {
 protected:
  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path(), file_ = folder_ / "run.csv";
};

Row row_of(int number) {
  Row row;
  row.schema = kSchema;
  row.experiment = "waves";
  row.case_ = fmt::format("case {}", number);
  row.grid_blocks = number;
  row.achieved_pct = number / 7.0;
  row.note = "quoted, \"cell\"\nof two lines";
  return row;
}

std::vector<Sample> samples_of(int number) {
  std::vector<Sample> samples;
  for (int i = 0; i < 5; ++i)
    samples.push_back({"waves", fmt::format("case {}", number), "time_us", i, number + i / 3.0});
  return samples;
}

/// What a run does after a stop: the cases that are not there yet.
void write_rows(auto&& file, int count) {
  for (auto number = static_cast<int>(file.finished().size()); number < count; ++number) {
    file.append(row_of(number), samples_of(number));
  }
}

void put(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

TEST_F(RunFileTest, WhatWasAppendedIsReadBack) {
  RunFile file(file_, RunFile::Mode::create);
  write_rows(file, 3);
  const std::vector<Row> rows = read_rows(file_);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].note, row_of(2).note);
  EXPECT_EQ(rows[2].achieved_pct, 0.2857) << "four decimals";
  EXPECT_EQ(read_samples(samples_path(file_)).size(), 15u);
}

TEST_F(RunFileTest, CreatingReplacesAnOlderRunAndItsSamples) {
  write_rows(RunFile(file_, RunFile::Mode::create), 3);
  const RunFile file(file_, RunFile::Mode::create);
  EXPECT_TRUE(file.finished().empty());
  EXPECT_TRUE(read_rows(file_).empty());
  EXPECT_TRUE(read_samples(samples_path(file_)).empty());
}

TEST_F(RunFileTest, WhatIsSetAsideIsKeptWholeUnderANewNameEachTime) {
  EXPECT_TRUE(set_aside(file_).empty()) << "there is no file";
  std::set<fs::path> kept;
  for (int run = 0; run < 3; ++run) {
    RunFile file(file_, RunFile::Mode::create);
    EXPECT_TRUE(set_aside(file_).empty()) << "a header alone";
    write_rows(file, 2);
    const std::string rows = read_text(file_);
    const std::vector<SetAside> both = set_aside(file_);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[1].file, samples_path(file_));
    EXPECT_EQ(read_samples(both[1].kept_as).size(), 10u);
    const fs::path aside = both[0].kept_as;
    kept.insert(aside);
    EXPECT_EQ(read_text(aside), rows);
    EXPECT_FALSE(fs::exists(file_));
    EXPECT_FALSE(fs::exists(samples_path(file_)));
    EXPECT_NE(aside.extension(), ".csv") << "folders of runs are searched for .csv";
  }
  EXPECT_EQ(kept.size(), 3u);
}

TEST_F(RunFileTest, SamplesThatStandAloneAreSetAsideToo) {
  put(samples_path(file_), "somebody's\nsamples\n");
  const std::vector<SetAside> kept = set_aside(file_);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(read_text(kept[0].kept_as), "somebody's\nsamples\n");
}

TEST_F(RunFileTest, SamplesThatGzipCompressedAreSetAsideWithTheirRows) {
  put(file_, csv_header() + "rows\n");
  put(samples_path(file_).string() + ".gz", "\x1f\x8b");
  const std::vector<SetAside> kept = set_aside(file_);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[1].file, samples_path(file_).string() + ".gz");
  EXPECT_EQ(samples_beside(file_), "");
}

TEST_F(RunFileTest, AFileOfOneLineThatNoRunWroteIsNeverReplaced) {
  for (const std::string text : {"somebody's", "somebody's\n", "schema\n"}) {
    put(file_, text);
    put(samples_path(file_), text);
    EXPECT_THROW(RunFile(file_, RunFile::Mode::resume), InputError);
    const std::vector<SetAside> kept = set_aside(file_);
    ASSERT_EQ(kept.size(), 2u) << text;
    for (const SetAside& each : kept) EXPECT_EQ(read_text(each.kept_as), text);
    put(samples_path(file_), text);
    EXPECT_THROW(RunFile(file_, RunFile::Mode::resume), InputError) << "samples alone";
    EXPECT_EQ(read_text(samples_path(file_)), text);
    fs::remove(samples_path(file_));
    fs::remove(file_);
  }
}

TEST_F(RunFileTest, ALinkWhoseFileIsSetAsideStaysALink) {
  put(folder_ / "elsewhere.csv", "a\nb\n");
  fs::create_symlink(folder_ / "elsewhere.csv", file_);
  EXPECT_EQ(read_text(set_aside(file_).at(0).kept_as), "a\nb\n");
  const RunFile file(file_, RunFile::Mode::create);
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_TRUE(fs::exists(folder_ / "elsewhere.csv"));
}

TEST_F(RunFileTest, ColumnsBeyondTheTableAreWrittenByName) {
  RunFile file(file_, RunFile::Mode::create, {"dram__bytes.sum", "gpu__time_duration.sum"});
  Row row = row_of(0);
  row.extra = {{"gpu__time_duration.sum", "5"}};
  file.append(row, {});
  using Extra = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(read_rows(file_).at(0).extra, (Extra{{"dram__bytes.sum", ""}, {"gpu__time_duration.sum", "5"}}));
  row.extra = {{"another", "5"}};
  EXPECT_THROW(file.append(row, {}), std::invalid_argument);
}

// A file that stops at any byte is what a machine that lost power may leave.
TEST_F(RunFileTest, AFileCutAtAnyByteIsCompletedByResumeToTheSameBytes) {
  write_rows(RunFile(file_, RunFile::Mode::create), 3);
  const std::string rows = read_text(file_);
  const std::string samples = read_text(samples_path(file_));
  // Every byte of the rows; of the header, which is one line like them, some.
  const std::size_t header = csv_header().size();
  for (std::size_t length = 0; length <= rows.size(); length += length < header - 5 ? header / 8 : 1) {
    put(file_, rows.substr(0, length));
    put(samples_path(file_), samples);
    RunFile file(file_, RunFile::Mode::resume);
    for (std::size_t i = 0; i < file.finished().size(); ++i)
      EXPECT_EQ(file.finished()[i].case_, row_of(static_cast<int>(i)).case_);
    write_rows(file, 3);
    ASSERT_EQ(read_text(file_), rows) << "cut at byte " << length;
    ASSERT_EQ(read_text(samples_path(file_)), samples) << "cut at byte " << length;
  }
}

TEST_F(RunFileTest, SamplesCutAtAnyByteAfterTheirLastRowAreCompletedByResume) {
  write_rows(RunFile(file_, RunFile::Mode::create), 2);
  const std::string rows = read_text(file_);
  const std::size_t finished = read_text(samples_path(file_)).size();
  write_rows(RunFile(file_, RunFile::Mode::resume), 3);
  const std::string all_samples = read_text(samples_path(file_));
  for (std::size_t length = finished; length <= all_samples.size(); ++length) {
    put(file_, rows);
    put(samples_path(file_), all_samples.substr(0, length));
    RunFile file(file_, RunFile::Mode::resume);
    ASSERT_EQ(read_samples(samples_path(file_)).size(), 10u) << "cut at byte " << length;
    write_rows(file, 3);
    ASSERT_EQ(read_text(samples_path(file_)), all_samples) << "cut at byte " << length;
  }
}

TEST_F(RunFileTest, AWriterKilledAtRandomTimesLosesNoFinishedRow) {
  constexpr int kRows = 60;
  write_rows(RunFile(file_, RunFile::Mode::create), kRows);
  const std::string whole = read_text(file_);
  const std::string all_samples = read_text(samples_path(file_));
  std::mt19937 random(1);
  int stopped_between = 0;
  for (int round = 0; round < 50; ++round) {
    fs::remove(file_);
    fs::remove(samples_path(file_));
    int announce[2];
    ASSERT_EQ(::pipe(announce), 0);
    const pid_t writer = ::fork();
    if (writer == 0) {
      RunFile file(file_, RunFile::Mode::create);
      for (int number = 0; number < kRows; ++number) {
        file.append(row_of(number), samples_of(number));
        const char done = 1;
        if (::write(announce[1], &done, 1) != 1) ::_exit(1);
      }
      ::_exit(0);
    }
    ::close(announce[1]);
    // Let it finish some rows, then strike at a random moment of the next ones.
    const int seen = std::uniform_int_distribution(0, kRows - 10)(random);
    char done = 0;
    for (int number = 0; number < seen; ++number) ASSERT_EQ(::read(announce[0], &done, 1), 1);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 3000)(random));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    int announced = seen;
    while (::read(announce[0], &done, 1) == 1) ++announced;
    ::close(announce[0]);

    const std::vector<Row> rows = fs::exists(file_) ? read_rows(file_) : std::vector<Row>{};
    ASSERT_GE(static_cast<int>(rows.size()), announced) << "a row that append had finished is gone";
    ASSERT_LE(static_cast<int>(rows.size()), announced + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(csv_record(rows[i]), csv_record(row_of(static_cast<int>(i))));
    }
    if (!rows.empty()) {
      ASSERT_GE(read_samples(samples_path(file_)).size(), 5 * rows.size());
    }
    if (announced > 0 && announced < kRows) ++stopped_between;

    RunFile file(file_, RunFile::Mode::resume);
    EXPECT_EQ(file.finished().size(), rows.size());
    write_rows(file, kRows);
    ASSERT_EQ(read_text(file_), whole);
    ASSERT_EQ(read_text(samples_path(file_)), all_samples);
  }
  EXPECT_GE(stopped_between, 25) << "the writer was too fast or too slow for this test to say anything";
}

TEST_F(RunFileTest, AFullDiskIsAnErrorAndTheFileStaysWhole) {
  RunFile file(file_, RunFile::Mode::create);
  write_rows(file, 1);
  const std::string before = read_text(file_);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit full{before.size() + 10, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_THROW(file.append(row_of(1), {}), std::system_error);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(read_text(file_), before) << "the part that the disk had taken is cut off";
  file.append(row_of(1), {});
  EXPECT_EQ(read_rows(file_).size(), 2u);
}

TEST_F(RunFileTest, AFileThatWasRemovedMeanwhileIsAnError) {
  RunFile file(file_, RunFile::Mode::create);
  fs::remove(file_);
  EXPECT_THROW(file.append(row_of(0), {}), std::system_error);
}

TEST_F(RunFileTest, WhatCannotBeWrittenIsRefused) {
  EXPECT_THROW(RunFile(folder_ / "none" / "run.csv", RunFile::Mode::create), InputError);
  EXPECT_THROW(RunFile(folder_, RunFile::Mode::create), InputError);
  EXPECT_THROW(RunFile("/dev/null", RunFile::Mode::create), InputError)
      << "a device must not be renamed away";
}

TEST_F(RunFileTest, AFileOfOtherColumnsIsNotResumed) {
  put(file_, "name,age\nx,1\n");
  EXPECT_THROW(RunFile(file_, RunFile::Mode::resume), InputError);
  EXPECT_EQ(read_text(file_), "name,age\nx,1\n");
  RunFile(file_, RunFile::Mode::create, {"dram__bytes.sum"});
  EXPECT_THROW(RunFile(file_, RunFile::Mode::resume), InputError);
  EXPECT_NO_THROW(RunFile(file_, RunFile::Mode::resume, {"dram__bytes.sum"}));
}

/// What another process, not started by the one that holds the lock, is told when it opens the file.
std::string told_to_a_stranger(const fs::path& file) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t between = ::getpid();
    if (::fork() != 0) ::_exit(0);
    while (::getppid() == between) ::usleep(100);
    std::string message = "opened";
    try {
      const RunFile opened(file, RunFile::Mode::resume);
    } catch (const InputError& error) {
      message = error.what();
    }
    ::_exit(::write(ends[1], message.data(), message.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  std::string message(4096, '\0');
  const ssize_t length = ::read(ends[0], message.data(), message.size());
  ::close(ends[0]);
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return message;
}

TEST_F(RunFileTest, AFileThatAnotherRunIsWritingIsRefusedUntilThatEnds) {
  {
    const RunFile file(file_, RunFile::Mode::create);
    const std::string message = told_to_a_stranger(file_);
    EXPECT_NE(message.find("is being written by another run"), std::string::npos) << message;
    EXPECT_NE(message.find(std::to_string(::getpid())), std::string::npos) << message;
  }
  EXPECT_EQ(told_to_a_stranger(file_), "opened");
  EXPECT_FALSE(fs::exists(file_.string() + ".lock"));
}

TEST_F(RunFileTest, ALockOutlivesTheFilesOfItsHolderAndServesTheProcessesThatItStarts) {
  const FileLock lock(file_);
  static_cast<void>(RunFile(file_, RunFile::Mode::create));
  EXPECT_NE(told_to_a_stranger(file_), "opened");
  EXPECT_TRUE(in_a_child([&] {
    const RunFile file(file_, RunFile::Mode::resume);
    return true;
  }));
  EXPECT_NE(told_to_a_stranger(file_), "opened");
}

TEST_F(RunFileTest, RowsOfAnotherGpuOrOfTheSameExperimentOfAnotherCommitAreNotGoneOnWith) {
  Row row = row_of(0);
  row.gpu_uuid = "GPU-1";
  row.commit = "aaaa";
  RunFile(file_, RunFile::Mode::create).append(row, {});
  const RunFile file(file_, RunFile::Mode::resume);
  EXPECT_NO_THROW(file.require_same_origin(row));
  Row elsewhere = row;
  elsewhere.gpu_uuid = "GPU-2";
  EXPECT_THROW(file.require_same_origin(elsewhere), InputError);
  Row later = row;
  later.commit = "bbbb";
  EXPECT_THROW(file.require_same_origin(later), InputError);
  later.experiment = "placement";
  EXPECT_NO_THROW(file.require_same_origin(later)) << "a binary of its own, which may have been built before";
}

TEST_F(RunFileTest, ALinkToAFileStaysALink) {
  put(folder_ / "elsewhere.csv", "");
  fs::create_symlink(folder_ / "elsewhere.csv", file_);
  RunFile file(file_, RunFile::Mode::create);
  EXPECT_TRUE(fs::is_symlink(file_));
  file.append(row_of(0), {});
  EXPECT_EQ(read_rows(folder_ / "elsewhere.csv").size(), 1u);
}

TEST(ProgressLines, SurviveTheWayThereAndBackInOneLineEach) {
  for (const bool ended : {false, true}) {
    std::string line = progress_line({"waves/spin/plain/a b", ended});
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    line.pop_back();
    EXPECT_EQ(parse_progress_line(line)->full_name, "waves/spin/plain/a b");
    EXPECT_EQ(parse_progress_line(line)->ended, ended);
  }
}

TEST(ProgressLines, AnythingElseIsNone) {
  for (const char* line : {"", "text", "begun", "Ended waves/spin", "{\"begun\": 1}"})
    EXPECT_FALSE(parse_progress_line(line)) << line;
}

volatile std::sig_atomic_t others = 0;

TEST(StopOnSignals, AsksToStopWhileItLivesAndThenLeavesSignalsAsTheyWere) {
  static_cast<void>(std::signal(SIGINT, [](int) { others = others + 1; }));
  {
    const StopOnSignals stop;
    EXPECT_FALSE(stop_asked());
    std::raise(SIGINT);
    EXPECT_TRUE(stop_asked());
  }
  std::raise(SIGINT);
  EXPECT_EQ(others, 1);
  const StopOnSignals again;
  EXPECT_FALSE(stop_asked()) << "a new run begins";
}

}  // namespace
}  // namespace occbench
