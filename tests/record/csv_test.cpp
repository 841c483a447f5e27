#include "record/csv.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

using Cells = std::vector<std::vector<std::string>>;

std::string refusal(std::string_view text, LastLine last_line = LastLine::complete) {
  return message_of([&] { parse_csv(text, "file.csv", last_line); });
}

// The examples of RFC 4180, section 2, rules 1, 2, 5, 6 and 7.
TEST(Csv, ReadsTheExamplesOfTheStandard) {
  EXPECT_EQ(parse_csv("a,b,c\r\naaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", "").rows,
            (Cells{{"aaa", "bbb", "ccc"}, {"zzz", "yyy", "xxx"}}));
  EXPECT_EQ(parse_csv("a,b,c\r\naaa,bbb,ccc\r\nzzz,yyy,xxx", "").rows,
            (Cells{{"aaa", "bbb", "ccc"}, {"zzz", "yyy", "xxx"}}));
  EXPECT_EQ(parse_csv("a,b,c\r\n\"aaa\",\"bbb\",\"ccc\"\r\n", "").rows, (Cells{{"aaa", "bbb", "ccc"}}));
  EXPECT_EQ(parse_csv("a,b,c\r\n\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx", "").rows,
            (Cells{{"aaa", "b\r\nbb", "ccc"}, {"zzz", "yyy", "xxx"}}));
  EXPECT_EQ(parse_csv("a,b,c\n\"aaa\",\"b\"\"bb\",\"ccc\"", "").rows, (Cells{{"aaa", "b\"bb", "ccc"}}));
}

TEST(Csv, PassesOverWhatSpreadsheetsAddToAFile) {
  const CsvTable table = parse_csv("\xEF\xBB\xBFname,value\r\n\r\nx,1\r\n\r\n", "");
  EXPECT_EQ(table.names, (std::vector<std::string>{"name", "value"}));
  EXPECT_EQ(table.rows, (Cells{{"x", "1"}}));
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{3}));
}

TEST(Csv, LinesAreCountedThroughQuotedLineEnds) {
  EXPECT_EQ(parse_csv("a,b\n\"1\n2\n\",x\n3,4\n", "").lines, (std::vector<std::size_t>{2, 5}));
}

TEST(Csv, RefusesWithLineAndColumn) {
  EXPECT_EQ(refusal("a,b\n1\n"), "file.csv, line 2: 1 cells where the first line names 2 columns");
  EXPECT_EQ(refusal("a,b\n\n1,2,3\n"), "file.csv, line 3: 3 cells where the first line names 2 columns");
  EXPECT_EQ(refusal("a,b\n1,x\"y\n"),
            "file.csv, line 2, column 4: a quote inside a cell that does not begin with one");
  EXPECT_EQ(refusal("a,b\n\"1\"x,2\n"), "file.csv, line 2, column 4: text after a closing quote");
  EXPECT_EQ(refusal("a,b\n1\rx,2\n"), "file.csv, line 2, column 2: a carriage return without a line feed");
  EXPECT_EQ(refusal("a,b\n1,\"2\n3,4\n"), "file.csv, line 2: a quoted cell is not closed");
  EXPECT_EQ(refusal("a,a\n"), "file.csv, line 1: column 'a' occurs twice");
  EXPECT_EQ(refusal(""), "file.csv is empty: there is no line of column names");
  EXPECT_EQ(refusal("\n\n"), "file.csv is empty: there is no line of column names");
}

TEST(Csv, WhateverIsInACellComesBack) {
  const std::vector<std::string> cells = {"plain",      "",     "a,b",      "say \"so\"",
                                          "two\nlines", "cr\r", "\xC3\xA9", " space "};
  const std::string text =
      csv_record(std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"}) + csv_record(cells);
  EXPECT_EQ(parse_csv(text, "").rows, (Cells{cells}));
  const std::vector<std::string> nothing = {""};
  EXPECT_EQ(parse_csv("name\n" + csv_record(nothing), "").rows, (Cells{nothing}));
}

TEST(Csv, ALastLineWithoutItsEndIsTornOnlyInAFileThatWasBeingWritten) {
  const std::string_view text = "a,b\n1,2\n3,4";
  EXPECT_EQ(parse_csv(text, "", LastLine::complete).rows.size(), 2u);
  EXPECT_EQ(parse_csv(text, "", LastLine::torn).rows.size(), 1u);
  EXPECT_EQ(parse_csv(text, "", LastLine::torn).whole_bytes, 8u);
  EXPECT_EQ(parse_csv("a,b\n1,2\n3,\"4\n", "", LastLine::torn).rows.size(), 1u)
      << "torn after a quoted line end";
}

TEST(Rows, AreReadByNameInAnyOrderWithUnknownColumnsKept) {
  const std::vector<Row> rows =
      parse_rows("achieved_pct,new_metric,case,experiment\n74.94,17,one,waves\n,,two,waves\n", "f");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].experiment, "waves");
  EXPECT_EQ(rows[0].case_, "one");
  EXPECT_EQ(rows[0].achieved_pct, 74.94);
  EXPECT_EQ(rows[0].extra, (std::vector<std::pair<std::string, std::string>>{{"new_metric", "17"}}));
  EXPECT_FALSE(rows[1].achieved_pct);
}

TEST(Rows, TheGpcThatBeganComesBackAndIsNotKnownInAFileFromBeforeItWasWritten) {
  Row row;
  row.experiment = "waves";
  row.case_ = "one";
  row.first_gpc = 0;
  EXPECT_EQ(parse_rows(csv_header() + csv_record(row), "f"), std::vector<Row>{row});
  EXPECT_EQ(parse_rows("experiment,case,carveout_pct\nwaves,one,50\n", "f").at(0).first_gpc, std::nullopt);
}

TEST(Rows, RefuseACellWithFileLineAndColumn) {
  EXPECT_EQ(message_of([&] { parse_rows("experiment,case,sm_count\na,b,132\na,c,many\n", "run.csv"); }),
            "run.csv, line 3: 'many' is not a whole number for column sm_count");
}

TEST(Rows, AFileOfSomethingElseIsRefused) {
  EXPECT_THROW(parse_rows("name,age\nx,1\n", "people.csv"), InputError);
  EXPECT_THROW(parse_samples("name,age\nx,1\n", "people.csv"), InputError);
}

TEST(Samples, KeepEveryDigitOfAReading) {
  const Sample sample{"waves", "0.25, of a wave", "time_us", 3, 0.1 + 0.2};
  EXPECT_EQ(parse_samples(samples_header() + csv_record(sample), ""), (std::vector<Sample>{sample}));
}

TEST(Samples, RefuseWhatIsNoReading) {
  for (const char* line :
       {"a,b,time_us,0,nan\n", "a,b,time_us,x,1\n", "a,b,time_us,0,\n", "a,b,time_us,0,1e999\n"}) {
    EXPECT_THROW(parse_samples(samples_header() + line, ""), InputError) << line;
  }
}

TEST(Samples, LieBesideTheirRows) {
  EXPECT_EQ(samples_path("results/nvidia-h200/full.csv"), "results/nvidia-h200/full.samples.csv");
  EXPECT_EQ(samples_path("run"), "run.samples.csv");
  EXPECT_EQ(samples_path("v1.2"), "v1.2.samples.csv");
}

}  // namespace
}  // namespace occbench
