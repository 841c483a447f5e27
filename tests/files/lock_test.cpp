#include "files/lock.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace occbench
