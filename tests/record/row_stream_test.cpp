#include "record/row_stream.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Records = std::vector<std::vector<std::string>>;

class StreamingRows : public ::testing::Test {
 protected:
  fs::path write(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    return file_;
  }

  static Records records_of(const fs::path& file) {
    Records records;
    RowStream stream(file);
    while (stream.next()) records.push_back(stream.cells());
    return records;
  }

  std::string message_of(const std::string& text) {
    return occbench::message_of([&] { records_of(write(text)); });
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "rows.csv";
};

TEST_F(StreamingRows, HasTheRecordsOfTheReaderOfWholeFiles) {
  for (const char* name : {"full.csv", "repeat.csv", "validation.csv"}) {
    const fs::path file = fs::path(OCCBENCH_SOURCE_DIR) / "results/nvidia-h200" / name;
    const CsvTable whole = parse_csv(read_text(file), name);
    EXPECT_EQ(RowStream(file).names(), whole.names);
    EXPECT_EQ(records_of(file), whole.rows);
  }
}

TEST_F(StreamingRows, ReadsAnyTextThatTheReaderOfWholeFilesAccepts) {
  std::mt19937 generator(1);
  const std::string letters = "ab,,\"\"\n\r\n";
  int accepted = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::string text = "x,y\n";
    for (auto length = generator() % 14; length > 0; --length) text += letters[generator() % letters.size()];
    Records expected;
    try {
      expected = parse_csv(text, "text", LastLine::torn).rows;
    } catch (const InputError&) {
      continue;
    }
    ++accepted;
    SCOPED_TRACE(::testing::PrintToString(text));
    EXPECT_EQ(records_of(write(text)), expected);
  }
  EXPECT_GT(accepted, 500);
}

TEST_F(StreamingRows, PassesOverByteOrderMarkCarriageReturnsAndBlankLines) {
  EXPECT_THAT(records_of(write("\xEF\xBB\xBFx,y\r\n1,2\r\n\r\n3,\"4\r\n5\"\r\n")),
              ElementsAre(ElementsAre("1", "2"), ElementsAre("3", "4\r\n5")));
}

TEST_F(StreamingRows, LeavesOutALineWithoutItsEndAndRemembersIt) {
  RowStream stream(write("x,y\n1,2\n3,4"));
  EXPECT_TRUE(stream.next());
  EXPECT_FALSE(stream.torn());
  EXPECT_FALSE(stream.next());
  EXPECT_TRUE(stream.torn());
  RowStream quoted(write("x,y\n1,\"2\n"));
  EXPECT_FALSE(quoted.next());
  EXPECT_TRUE(quoted.torn());
}

TEST_F(StreamingRows, NamesFileAndLineOfADamagedRecord) {
  EXPECT_THAT(message_of("x,y\n1,2\n3\n"), HasSubstr("rows.csv, line 3: 1 cells"));
  EXPECT_THAT(message_of("x,y\n1,2\"\n"), HasSubstr("rows.csv, line 2"));
  EXPECT_THAT(message_of(""), HasSubstr("is empty"));
  EXPECT_THROW(RowStream(folder_.path() / "none.csv"), InputError);
  EXPECT_THROW(RowStream(folder_.path()), InputError);
}

}  // namespace
}  // namespace occbench
