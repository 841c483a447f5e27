#include "files/input.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "message_of.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

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
