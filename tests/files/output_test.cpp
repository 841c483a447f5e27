#include "files/output.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "message_of.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WritingAFile : public ::testing::Test {
 protected:
  void put(const fs::path& file, std::string_view text) const {
    std::ofstream(file, std::ios::binary) << text;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path()))
      found.push_back(entry.path().filename().string());
    return found;
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "rows.csv";
};

TEST_F(WritingAFile, ReplacesARegularFileAndKeepsItsPermissions) {
  put(file_, "old");
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  replace_text(file_, "new");
  EXPECT_EQ(read_text(file_), "new");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(names().size(), 1u) << "no temporary file is left";
}

TEST_F(WritingAFile, ANewFileHasTheUsersPermissions) {
  const mode_t before = ::umask(027);
  replace_text(file_, "new");
  ::umask(before);
  struct stat found {};
  ASSERT_EQ(::stat(file_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0640u);
}

TEST_F(WritingAFile, StandsUnderItsNameOnlyWhenItIsWhole) {
  put(file_, "old");
  {
    OutputFile output(file_);
    output.write(std::string(3 << 20, 'x'));
    EXPECT_EQ(read_text(file_), "old");
  }
  EXPECT_EQ(read_text(file_), "old") << "it was not kept";
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(WritingAFile, ASymbolicLinkStaysAndLeadsToTheNewText) {
  const fs::path target = folder_.path() / "target.csv";
  for (const bool exists : {true, false}) {
    if (exists) put(target, "old");
    fs::remove(file_);
    fs::create_symlink("target.csv", file_);
    replace_text(file_, "new");
    EXPECT_TRUE(fs::is_symlink(file_));
    EXPECT_EQ(read_text(target), "new");
    fs::remove(target);
  }
}

TEST_F(WritingAFile, LinksInACircleAreRefused) {
  fs::create_symlink("other.csv", file_);
  fs::create_symlink("rows.csv", folder_.path() / "other.csv");
  EXPECT_THAT(message_of([&] { replace_text(file_, "new"); }),
              HasSubstr("Too many levels of symbolic links"));
  EXPECT_TRUE(fs::is_symlink(file_));
}

/// What stands under the name, and under a link to it, is the same afterwards, and no text was written into it.
void expect_refused(const fs::path& folder, const fs::path& special, std::string_view kind) {
  const fs::path link = folder / "link";
  fs::create_symlink(special, link);
  struct stat before {
  }, after{};
  ASSERT_EQ(::lstat(special.c_str(), &before), 0);
  for (const fs::path& name : {special, link}) {
    const std::string message = message_of([&] { replace_text(name, "new"); });
    EXPECT_THAT(message, StartsWith("cannot write " + name.string()));
    EXPECT_THAT(message, HasSubstr(std::string(kind) + "; name a file"));
  }
  ASSERT_EQ(::lstat(special.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST_F(WritingAFile, AFifoIsNeitherReplacedNorWrittenTo) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expect_refused(folder_.path(), file_, "a FIFO");
}

TEST_F(WritingAFile, ADeviceIsNeitherReplacedNorWrittenTo) {
  // That of /dev/null, under a name of the test's own.
  if (::mknod(file_.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0)
    GTEST_SKIP() << "mknod is not permitted here";
  expect_refused(folder_.path(), file_, "a device");
}

TEST_F(WritingAFile, AFolderIsRefused) {
  expect_refused(folder_.path(), folder_.path(), "a folder");
  EXPECT_THAT(message_of([&] { replace_text(folder_.path() / "", "new"); }), HasSubstr("it names no file"));
}

TEST_F(WritingAFile, ANameThatIsTooLongIsSaidToBe) {
  const fs::path file = folder_.path() / std::string(300, 'x');
  EXPECT_THAT(message_of([&] { replace_text(file, "new"); }), HasSubstr("File name too long"));
  // One that only just fits leaves no room for anything behind it.
  const fs::path longest = folder_.path() / std::string(255, 'x');
  replace_text(longest, "new");
  EXPECT_EQ(read_text(longest), "new");
}

TEST_F(WritingAFile, OfTwoProcessesEachWritesAWholeFile) {
  const auto write = [&](char letter) {
    OutputFile output(file_);
    for (int piece = 0; piece < 300; ++piece) output.write(std::string(10'000, letter));
    output.keep();
  };
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      write('b');
      ::_exit(0);
    }
    write('a');
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    const std::string text = read_text(file_);
    EXPECT_EQ(text.size(), 3'000'000u);
    EXPECT_EQ(text.find_first_not_of(text[0]), std::string::npos);
  }
}

// A limit on the size of files cuts a write off as a full disk does, and needs no right to mount one.
TEST_F(WritingAFile, OnAFullDiskTheOldFileStays) {
  put(file_, "old");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit least{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &least);
    ::signal(SIGXFSZ, SIG_IGN);
    const std::string message = message_of([&] { replace_text(file_, std::string(100'000, 'x')); });
    ::_exit(message.find("File too large") == std::string::npos ? 1 : 0);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_text(file_), "old");
  EXPECT_EQ(names().size(), 1u) << "no temporary file is left";
}

TEST_F(WritingAFile, AFileThatGrowsIsRegularToo) {
  put(file_, "a\n");
  AppendFile grows(file_);
  grows.append("b\n");
  EXPECT_EQ(read_text(file_), "a\nb\n");
  const fs::path fifo = folder_.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { AppendFile never(fifo); }), HasSubstr("a FIFO"));
}

TEST_F(WritingAFile, CreatingDoesNotTouchWhatIsThere) {
  EXPECT_TRUE(create_text(file_, "first"));
  EXPECT_FALSE(create_text(file_, "second"));
  EXPECT_EQ(read_text(file_), "first");
  const fs::path dangling = folder_.path() / "dangling";
  fs::create_symlink("nowhere", dangling);
  EXPECT_FALSE(create_text(dangling, "text"));
  EXPECT_FALSE(fs::exists(folder_.path() / "nowhere"));
}

}  // namespace
}  // namespace occbench
