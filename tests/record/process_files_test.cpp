#include "record/process_files.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "record/files.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

ProgramEntry launched(int times, std::int64_t grid = 66) {
  ProgramEntry entry{{"NVIDIA H100", "GPU-1", 0, "9.0", 132, 1980}, {}, {}};
  entry.kernel.name = "_Z6reducePKfPfi";
  entry.kernel.grid.x = grid;
  entry.kernel.block.x = 256;
  entry.kernel.registers_per_thread = 40;
  entry.seen.launches = times;
  entry.seen.times_us = {1.5, 2.5};
  return entry;
}

TEST(ProcessFiles, AreNamedByProcessAndProgram) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run.csv";
  const fs::path first = make_process_file(out, 41);
  const fs::path after_exec = make_process_file(out, 41);
  EXPECT_EQ(first, folder.path() / "run.41.csv");
  EXPECT_EQ(after_exec, folder.path() / "run.41-2.csv");
  EXPECT_TRUE(read_process_file(first).empty());
  write_process_file(first, std::vector{launched(7)});
  const std::vector<ProgramEntry> read = read_process_file(first);
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].seen.launches, 7);
  EXPECT_THAT(read[0].seen.times_us, ElementsAre(1.5, 2.5));
  EXPECT_THAT(process_files(out), ElementsAre(after_exec, first));
}

TEST(ProcessFiles, AreNotWhatOthersNamedSo) {
  const TemporaryFolder folder;
  for (const char* name : {"run.1.csv", "run.csv", "run.41.samples.csv", "run.4x.csv", "runs.41.csv"}) {
    std::ofstream(folder.path() / name) << "schema,experiment,case\n";
  }
  EXPECT_TRUE(process_files(folder.path() / "run.csv").empty());
  // A file of that name stays as it is.
  EXPECT_EQ(make_process_file(folder.path() / "run.csv", 1), folder.path() / "run.1-2.csv");
}

TEST(ProcessFiles, InAFolderThatIsNotThereAreRefusedAndNone) {
  EXPECT_THROW(make_process_file("/nonexistent/run.csv", 1), InputError);
  EXPECT_TRUE(process_files("/nonexistent/run.csv").empty());
}

TEST(ProcessFiles, ParseWhateverMomentTheirWriterIsKilledIn) {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  int written = 0;
  for (int moment = 0; moment < 20; ++moment) {
    const fs::path out = folder.path() / "run.csv";
    const fs::path file = make_process_file(out, moment);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      std::vector<ProgramEntry> entries;
      for (int i = 1;; ++i) {
        entries.assign(40, launched(i));
        for (std::size_t k = 0; k < entries.size(); ++k) entries[k].kernel.grid.x = static_cast<int>(k) + 1;
        write_process_file(file, entries);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100000));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    const std::vector<ProgramEntry> entries = read_process_file(file);
    EXPECT_TRUE(entries.empty() || entries.size() == 40) << entries.size();
    for (const ProgramEntry& entry : entries) EXPECT_EQ(entry.seen.launches, entries[0].seen.launches);
    written += entries.empty() ? 0 : 1;
  }
  EXPECT_GT(written, 5);
}

}  // namespace
}  // namespace occbench
