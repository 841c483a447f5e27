#include "trace/entry_file.hpp"

#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/entries.hpp"
#include "entries/process_files.hpp"
#include "files/input.hpp"
#include "files/output.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Writes numbers; has those that a file has.
struct EntryFileTest : testing::Test {
  TemporaryFolder folder;
  fs::path path = make_process_file(folder.path() / "run.csv", 41);
  EntryFile file{path};
  std::uint32_t last = 0;
  std::uint32_t written = 0;

  /// Numbers 1 to `until`, each of an entry of `bytes`.
  void update(std::uint32_t until, std::size_t bytes = 0) {
    last = until;
    file.update([&](std::string& text, bool all) {
      if (all) written = 0;
      while (written < last) append_text(text, EntryKind::name, ++written, std::string(bytes + 1, 'x'));
    });
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> numbers;
    EXPECT_TRUE(for_each_entry(read_text(path),
                               [&](const EntryView& entry) { numbers.push_back(entry.head.number); }));
    return numbers;
  }
  void expect_all() const {
    ASSERT_EQ(numbers().size(), last);
    for (std::uint32_t i = 0; i < last; ++i) EXPECT_EQ(numbers()[i], i + 1);
  }
};

TEST_F(EntryFileTest, GrowsByWhatHasChanged) {
  update(3);
  expect_all();
  update(3);
  update(5);
  expect_all();
}

TEST_F(EntryFileTest, IsWrittenAnewOnceItWasNotToBeWritten) {
  update(3);
  fs::remove_all(folder.path());
  EXPECT_THROW(update(4), std::exception);
  EXPECT_THROW(update(4), std::exception) << "there is still no folder";
  fs::create_directories(folder.path());
  update(5);
  expect_all();
}

TEST_F(EntryFileTest, StaysNearTheLengthOfItsContent) {
  for (int i = 0; i < 50; ++i) {
    written = 0;
    update(1000, 400);
    EXPECT_LT(fs::file_size(path), 10 << 20);
  }
}

TEST_F(EntryFileTest, IsReadWhateverMomentItsWriterIsKilledIn) {
  std::mt19937 random(5);
  int filled = 0;
  for (int moment = 0; moment < 10; ++moment) {
    path = make_process_file(folder.path() / "run.csv", 100 + moment);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      EntryFile killed(path);
      std::uint32_t number = 0;
      while (true) {
        killed.update([&](std::string& text, bool) {
          for (int i = 0; i < 50; ++i) {
            ++number;
            append_text(text, EntryKind::name, number, std::string(number % 400 + 1, 'x'));
          }
        });
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10000));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    std::uint32_t before = 0;
    for_each_entry(read_text(path), [&](const EntryView& entry) {
      EXPECT_GT(entry.head.number, before);
      EXPECT_EQ(entry.payload, std::string(entry.head.number % 400 + 1, 'x'));
      before = entry.head.number;
    });
    filled += before > 0 ? 1 : 0;
  }
  EXPECT_GT(filled, 2);
}

}  // namespace
}  // namespace occbench
