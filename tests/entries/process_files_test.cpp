#include "entries/process_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/entries.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

struct ProcessFilesTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("entries_" + std::to_string(::getpid()));
  fs::path out = folder / "run.csv";

  ProcessFilesTest() {
    fs::create_directories(folder);
  }
  ~ProcessFilesTest() override {
    fs::remove_all(folder);
  }
};

TEST_F(ProcessFilesTest, AreNamedByProcessAndProgram) {
  const fs::path first = make_process_file(out, 41);
  const fs::path after_exec = make_process_file(out, 41);
  EXPECT_EQ(first, folder / "run.41.entries");
  EXPECT_EQ(after_exec, folder / "run.41-2.entries");
  EXPECT_EQ(fs::file_size(first), kEntriesMagic.size());
  EXPECT_THAT(process_files(out), ElementsAre(after_exec, first));
}

TEST_F(ProcessFilesTest, AreNotWhatOthersNamedSo) {
  for (const char* name : {"run.1.entries", "run.41.csv", "run.entries", "run..entries", "run.4x.entries",
                           "run.-2.entries", "runs.41.entries"}) {
    std::ofstream(folder / name) << (std::string_view(name) == "run.1.entries" ? "mine" : kEntriesMagic);
  }
  EXPECT_TRUE(process_files(out).empty());
  // A file of that name stays as it is.
  EXPECT_EQ(make_process_file(out, 1), folder / "run.1-2.entries");
}

TEST_F(ProcessFilesTest, InAFolderThatIsNotThereAreRefusedAndNone) {
  EXPECT_THROW(make_process_file("/nonexistent/run.csv", 1), InputError);
  EXPECT_TRUE(process_files("/nonexistent/run.csv").empty());
}

}  // namespace
}  // namespace occbench
