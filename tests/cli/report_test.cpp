#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_command.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;

/// A file of rows under the test's own name, removed at its end.
class RowsFile {
 public:
  explicit RowsFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              (std::string("occbench_") + ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~RowsFile() {
    std::filesystem::remove(path_);
  }
  RowsFile(const RowsFile&) = delete;
  RowsFile& operator=(const RowsFile&) = delete;

  const char* name() const {
    return path_.c_str();
  }

 private:
  std::filesystem::path path_;
};

TEST(Report, RefusesANumberThatIsNoneWithItsLine) {
  const RowsFile file("experiment,case,achieved_pct\nwaves,a,50\nwaves,b,nan\n");
  const Outcome outcome = run_command({"report", file.name()});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("line 3"));
  EXPECT_THAT(outcome.err, HasSubstr("achieved_pct"));
}

TEST(Report, RefusesAFileWithoutRows) {
  const RowsFile file("experiment,case\n");
  const Outcome outcome = run_command({"report", file.name()});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("no row"));
}

TEST(Report, DoesNotOverwriteTheRowsThatItDraws) {
  const RowsFile file("experiment,case\nwaves,a\n");
  const Outcome outcome = run_command({"report", file.name(), "-o", file.name()});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("is a file that is read"));
}

TEST(Report, WantsAFileAndFoldersThatExist) {
  EXPECT_EQ(run_command({"report"}).status, ExitStatus::usage);
  const RowsFile file("experiment,case\nwaves,a\n");
  const Outcome outcome = run_command({"report", file.name(), "--timeline", "/no/such/folder"});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace occbench
