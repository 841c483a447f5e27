#include "files/output.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>
#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/descriptor.hpp"
#include "files/input.hpp"
#include "files/lock.hpp"
#include "in_a_child.hpp"
#include "message_of.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
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

TEST_F(WritingAFile, ADashIsNoFile) {
  EXPECT_THAT(message_of([&] { replace_text("-", "new"); }),
              AllOf(StartsWith("cannot write -: "), HasSubstr("; name a file")));
  EXPECT_FALSE(fs::exists("-"));
  replace_text(folder_.path() / "-", "new");
  EXPECT_EQ(read_text(folder_.path() / "-"), "new");
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

TEST_F(WritingAFile, WhatADescriptorLeadsToIsNeitherReplacedNorWrittenTo) {
  put(file_, "a log\n");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor log(::open(file_.c_str(), O_WRONLY | O_APPEND)), out(ends[0]), in(ends[1]);
  for (const Descriptor* open : {&log, &in}) {
    for (const std::string place : {"/dev/fd/", "/proc/self/fd/"}) {
      const fs::path name = place + std::to_string(open->number());
      const fs::path link = folder_.path() / "link";
      fs::create_symlink(name, link);
      for (const fs::path& through : {name, link}) {
        const std::string message = message_of([&] { replace_text(through, "new"); });
        EXPECT_THAT(message, StartsWith("cannot write " + through.string()));
        EXPECT_THAT(message, HasSubstr("an open file of a process; name a file"));
      }
      fs::remove(link);
    }
  }
  EXPECT_EQ(read_text(file_), "a log\n");
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(WritingAFile, ANameOfACompressedFileIsRefusedForNothingIsCompressed) {
  const fs::path file = folder_.path() / "rows.csv.gz";
  EXPECT_THAT(message_of([&] { replace_text(file, "new"); }), HasSubstr("rows.csv, then gzip it"));
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(WritingAFile, WhatAKilledProcessLeftGoesWithTheNextOutputOfItsFolder) {
  const fs::path other = folder_.path() / "other.csv";
  OutputFile begun(file_), whole(file_);
  begun.write("begun");
  whole.write("whole");
  whole.complete();
  const std::size_t before = names().size();
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile killed(file_);
    killed.write(std::string(3 << 20, 'x'));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(names().size(), before + 1);
  const std::vector<std::string> foreign = {".occbench-", ".occbench-host-7", ".occbench-7-diary"};
  for (const std::string& name : foreign) put(folder_.path() / name, "somebody's");
  replace_text(other, "new");
  EXPECT_EQ(names().size(), before + foreign.size() + 1) << "the killed process's file is gone";
  whole.keep();
  EXPECT_EQ(read_text(file_), "whole");
  begun.keep();
  EXPECT_EQ(read_text(file_), "begun");
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
    const auto write_b = [&] {
      write('b');
      return true;
    };
    ASSERT_TRUE(in_a_child(write_b, [&] { write('a'); }));
    const std::string text = read_text(file_);
    EXPECT_EQ(text.size(), 3'000'000u);
    EXPECT_EQ(text.find_first_not_of(text[0]), std::string::npos);
  }
}

// A limit on the size of files cuts a write off as a full disk does, and needs no right to mount one.
TEST_F(WritingAFile, OnAFullDiskTheOldFileStays) {
  put(file_, "old");
  EXPECT_TRUE(in_a_child([&] {
    const rlimit least{8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &least);
    ::signal(SIGXFSZ, SIG_IGN);
    return message_of([&] { replace_text(file_, std::string(100'000, 'x')); }).find("File too large") !=
           std::string::npos;
  }));
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

class Locking : public ::testing::Test {
 protected:
  std::string refusal() const {
    return message_of([&] { const FileLock lock(file_); });
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "x.csv";
  fs::path lock_ = folder_.path() / "x.csv.lock";
  fs::path victim_ = folder_.path() / "victim";
};

TEST_F(Locking, NeverWritesThroughALink) {
  std::ofstream(victim_) << "precious\n";
  for (const bool symbolic : {true, false}) {
    if (symbolic) {
      fs::create_symlink(victim_, lock_);
      EXPECT_THAT(refusal(),
                  HasSubstr("x.csv.lock is a symbolic link, where a run keeps its lock: rename it"));
    } else {
      fs::create_hard_link(victim_, lock_);
      EXPECT_THAT(refusal(), HasSubstr("x.csv.lock is a file of another kind"));
    }
    EXPECT_TRUE(fs::exists(lock_));
    EXPECT_EQ(read_text(victim_), "precious\n");
    fs::remove(lock_);
  }
}

TEST_F(Locking, RefusesAFolder) {
  fs::create_directory(lock_);
  EXPECT_THAT(refusal(), HasSubstr("x.csv.lock is a folder, where a run keeps its lock"));
}

TEST_F(Locking, RefusesAFifo) {
  ASSERT_EQ(::mkfifo(lock_.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("no regular file"));
  EXPECT_TRUE(fs::exists(lock_));
}

TEST_F(Locking, TakesTheLockOfAProcessThatDied) {
  std::ofstream(lock_) << "999999999\n";
  EXPECT_EQ(refusal(), "nothing was thrown");
  EXPECT_FALSE(fs::exists(lock_));
}

/// A lock that another process has taken, and not yet written its number into.
class UnnamedLock : public Locking {
 protected:
  UnnamedLock() : held_(::open(lock_.c_str(), O_RDWR | O_CREAT, 0644)) {
    EXPECT_EQ(::flock(held_.number(), LOCK_EX), 0);
    for (const auto& pair : kVariables) {
      for (const char* const name : pair) ::unsetenv(name);  // the tests' own job may have them
    }
  }

  // In a job of Slurm that another launcher divides, its own variables are the same for several ranks.
  static constexpr const char* kVariables[][2] = {{"SLURM_PROCID", "SLURM_NTASKS"},
                                                  {"PMI_RANK", "PMI_SIZE"},
                                                  {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                  {"RANK", "WORLD_SIZE"}};

  Descriptor held_;
};

TEST_F(UnnamedLock, IsAskedAgainUntilItsHolderIsNamed) {
  std::jthread holder([&] {
    ::usleep(20'000);
    EXPECT_TRUE(write_all(held_.number(), "1\n"));
  });
  EXPECT_THAT(refusal(), HasSubstr("x.csv is being written by another run (process 1): wait for it to end"));
}

TEST_F(UnnamedLock, NamesNobodyWhereItsHolderNeverDoes) {
  EXPECT_THAT(refusal(), EndsWith("another run: wait for it to end, or write to another file"));
}

TEST_F(UnnamedLock, TellsRanksOfOneJobToNameAFileEach) {
  std::ofstream(lock_) << "1\n";
  for (const auto& [rank, ranks] : kVariables) {
    ::setenv(rank, "0", 1);
    ::setenv(ranks, "1", 1);
    EXPECT_THAT(refusal(), Not(HasSubstr("$" + std::string(rank))));
    ::setenv(ranks, "4", 1);
    EXPECT_THAT(refusal(),
                AllOf(HasSubstr("may be one of 4 ranks"), HasSubstr("then occbench merge"),
                      HasSubstr(std::string("--out ") + (folder_.path() / "x.$").string() + rank + ".csv ")));
  }
  for (const auto& pair : kVariables) {
    for (const char* const name : pair) ::unsetenv(name);
  }
}

class ReadingAFile : public ::testing::Test {
 protected:
  ~ReadingAFile() override {
    set_max_file_bytes(kMaxFileBytes);
  }

  void put(std::string_view text) const {
    std::ofstream(file_, std::ios::binary) << text;
  }
  void compress(const std::string& piece, int times) const {
    gzFile stream = ::gzopen(file_.c_str(), "wb9");
    for (int i = 0; i < times; ++i) ::gzwrite(stream, piece.data(), static_cast<unsigned>(piece.size()));
    ::gzclose(stream);
  }
  std::string refusal(const fs::path& file) const {
    return message_of([&] { read_text(file); });
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "file";
};

TEST_F(ReadingAFile, GivesItsTextWhetherOrNotGzipCompressedIt) {
  std::string text;
  for (int line = 0; line < 50'000; ++line) text += std::to_string(line) + '\n';
  put(text);
  EXPECT_EQ(read_text(file_), text);
  compress(text, 1);
  EXPECT_EQ(read_text(file_), text);
  put("");
  EXPECT_EQ(read_text(file_), "");
}

TEST_F(ReadingAFile, StopsAtTheLimitHoweverSmallTheFileIs) {
  compress(std::string(1 << 20, '0'), 64);
  ASSERT_LT(fs::file_size(file_), 100'000u);
  set_max_file_bytes(10 << 20);
  EXPECT_THAT(refusal(file_),
              AllOf(HasSubstr("it holds more than 10485760 bytes"), HasSubstr("--max-size SIZE")));
  set_max_file_bytes(64 << 20);
  EXPECT_EQ(read_text(file_).size(), std::size_t{64} << 20);
}

TEST_F(ReadingAFile, WithoutAnEndIsStoppedAtTheLimit) {
  set_max_file_bytes(1 << 20);
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("cannot read /dev/zero: it holds more than"));
  std::istringstream endless(std::string(2 << 20, 'x'));
  EXPECT_THAT(message_of([&] { read_text(endless, "standard input"); }),
              HasSubstr("cannot read standard input: it holds more than"));
}

TEST_F(ReadingAFile, SaysWhyItCannotBeRead) {
  EXPECT_THAT(refusal(file_), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("Is a directory"));
  EXPECT_THAT(refusal(folder_.path() / std::string(300, 'x')), HasSubstr("File name too long"));
  compress("some text that is long enough to be cut", 1000);
  fs::resize_file(file_, fs::file_size(file_) / 2);
  EXPECT_THAT(refusal(file_), HasSubstr("unexpected end of file"));
}

TEST(ATemporaryFolder, ThatCannotBeMadeSaysWhatToSet) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_THAT(message_of([] { TemporaryFolder folder; }),
              AllOf(HasSubstr("/no/such/folder"), HasSubstr("name one in the variable TMPDIR")));
  kept.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace occbench
