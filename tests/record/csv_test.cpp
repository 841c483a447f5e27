#include "record/csv.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/row_stream.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(Csv, RefusesUtf16AsShellsOfWindowsWriteIt) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"\xFF\xFE"
                                      "a\0,\0b\0\n\0"sv,
                                      "\xFE\xFF\0a\0,\0b\0\n"sv}) {
    EXPECT_EQ(refusal(text), "file.csv is UTF-16: save it as UTF-8");
    EXPECT_EQ(message_of([&] { parse_rows(text, "run.csv"); }), "run.csv is UTF-16: save it as UTF-8");
  }
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

const std::string kResults = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/";

std::string refusal_of(const std::string& text) {
  return message_of([&] { parse_rows(text, "FILE"); });
}

TEST(FileKind, OfRecordedRowsIsRows) {
  for (const char* file : {"full.csv", "validation.csv", "advice.csv", "calibration.csv"})
    EXPECT_EQ(what_else_it_is(read_text(kResults + file)), "") << file;
  EXPECT_EQ(what_else_it_is(""), "");
}

TEST(FileKind, OfATraceAndOfSamplesIsNamedWithTheRemedy) {
  const std::string recorded = read_text(kResults + "../nvidia-h100-80gb-hbm3/programs/training.json.gz");
  for (const std::string& trace : {recorded, std::string("{\"traceEvents\": []}"),
                                   std::string("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [")})
    EXPECT_THAT(refusal_of(trace), testing::AllOf(testing::StartsWith("FILE is no file of rows: "),
                                                  HasSubstr("occbench trace --import")));
  EXPECT_THAT(refusal_of(read_text(kResults + "../nvidia-h100-80gb-hbm3/programs/timeline.json.gz")),
              HasSubstr("occbench report ROWS.csv --timeline FILE"));
  for (const char* samples : {"per_sm/traced.samples.csv", "full.samples.csv.gz"})
    EXPECT_THAT(refusal_of(read_text(kResults + samples)),
                HasSubstr("(samples); name the file of rows, FILE.csv of FILE.samples.csv"));
}

TEST(FileKind, OfAnyOtherIsRefusedByItsColumns) {
  EXPECT_THAT(refusal_of(read_text(kResults + "h200_recorded.profile")),
              testing::AnyOf(HasSubstr("no column"), HasSubstr("line 1")));
  for (const std::string& text : {read_text(kResults + "waves.svg"), std::string("<!DOCTYPE html>\n<html>"),
                                  std::string("{\"all\": {}}"),
                                  std::string("\x7f"
                                              "ELF\x02")})
    EXPECT_THAT(refusal_of(text), testing::StartsWith("FILE is no file of rows: it is no table;"));
  EXPECT_THAT(refusal_of("some,other,table\n1,2,3\n"), testing::StartsWith("FILE"));
  TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "tolerances.json";
  std::ofstream(file) << "a,b";
  EXPECT_THAT(
      [&] { RowStream stream(file); },
      testing::ThrowsMessage<InputError>(HasSubstr("tolerances.json has no whole line of column names")));
}

class StreamingRows : public ::testing::Test {
 protected:
  fs::path write(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    return file_;
  }

  static Cells records_of(const fs::path& file) {
    Cells records;
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
    Cells expected;
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
  EXPECT_THAT(message_of(""), HasSubstr("has no whole line of column names"));
  EXPECT_THROW(RowStream(folder_.path() / "none.csv"), InputError);
  EXPECT_THROW(RowStream(folder_.path()), InputError);
}

using OldCells = std::map<std::string, std::string>;

/// Files that an occbench of schema 2 wrote.
std::vector<fs::path> old_files() {
  std::vector<fs::path> files;
  for (const char* name : {"suite.csv", "program.csv", "sweep.csv"})
    files.push_back(fs::path(OCCBENCH_SOURCE_DIR) / "tests/data/schema_2" / name);
  return files;
}

std::vector<OldCells> old_cells(const fs::path& file) {
  const CsvTable table = parse_csv(read_text(file), file.string());
  std::vector<OldCells> all;
  for (const auto& row : table.rows) {
    OldCells& cells = all.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) cells[table.names[i]] = row[i];
  }
  return all;
}

double old_number(const OldCells& cells, const char* name) {
  return std::stod(cells.at(name));
}

std::string new_cell(const Row& row, std::string_view name) {
  return cell_text(row, *find_column(name));
}

TEST(Schema3, ItsFirstRowsHadTwoPipesAsColumns) {
  const std::string text =
      "schema,experiment,case,issue_active_pct,gpu_state,fp32_pipe_pct,xu_pipe_pct,note\n"
      "3,waves,a,7,,51.5,2,well\n3,waves,b,8,,,,\n";
  const std::vector<Row> rows = parse_rows(text, "rows.csv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].unit_use, "fma=51.5;xu=2");
  EXPECT_EQ(rows[0].issue_active_pct, 7);
  EXPECT_EQ(rows[0].note, "well");
  EXPECT_TRUE(rows[0].extra.empty());
  EXPECT_EQ(rows[1].unit_use, "");
}

TEST(Schema2, ColumnsThatStayKeepTheirValues) {
  const std::set<std::string> rewritten = {"schema", "device_profile", "note"};
  std::size_t compared = 0;
  for (const fs::path& file : old_files()) {
    const std::vector<OldCells> before = old_cells(file);
    const std::vector<Row> after = read_rows(file);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].schema, kSchema);
      for (const auto& [name, value] : before[i]) {
        if (find_column(name) == nullptr || rewritten.contains(name)) continue;
        EXPECT_EQ(new_cell(after[i], name), value) << file << ", " << name;
        ++compared;
      }
      EXPECT_TRUE(after[i].extra.empty());
    }
  }
  EXPECT_GT(compared, 400U);
}

TEST(Schema2, PairsOfCountersThatReadersAddBecomeTheirSum) {
  const fs::path file = old_files()[0];
  const std::vector<OldCells> before = old_cells(file);
  const std::vector<Row> after = read_rows(file);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_NEAR(*after[i].local_sectors,
                old_number(before[i], "local_load_sectors") + old_number(before[i], "local_store_sectors"),
                1e-4);
    EXPECT_NEAR(*after[i].atomic_requests,
                old_number(before[i], "global_reductions") + old_number(before[i], "global_atomics"), 1e-4);
    EXPECT_NEAR(*after[i].memory_stall_warps,
                old_number(before[i], "long_scoreboard_stall_warps") +
                    old_number(before[i], "lg_throttle_stall_warps"),
                1e-4);
  }
  EXPECT_GT(*after.at(1).atomic_requests + *after.at(0).memory_stall_warps, 0);
}

TEST(Schema2, StateAndOriginKeepWhatTheirColumnsSaid) {
  const fs::path suite = old_files()[0];
  const OldCells before = old_cells(suite).at(0);
  const CaseRecord of_suite = read_case_records(suite).at(0);
  EXPECT_EQ(of_suite.provenance.gpu_settings, before.at("gpu_settings"));
  EXPECT_EQ(of_suite.provenance.memory_bus_bits, old_number(before, "memory_bus_bits"));
  EXPECT_EQ(of_suite.condition.memory_clock_mhz, old_number(before, "memory_clock_mhz"));
  EXPECT_EQ(of_suite.condition.temperature_c, old_number(before, "temperature_c"));
  EXPECT_EQ(of_suite.condition.power_w, old_number(before, "power_w"));
  EXPECT_EQ(of_suite.condition.throttle_reasons, before.at("throttle_reasons"));
  EXPECT_EQ(of_suite.condition.other_processes, old_number(before, "other_processes"));
  EXPECT_EQ(of_suite.readings.achieved_source, AchievedSource::counter);
  const OldCells lost = old_cells(suite).at(1);
  EXPECT_THAT(read_rows(suite).at(1).note, HasSubstr(lost.at("lost_updates_pct") + " % of updates lost"));

  const fs::path program = old_files()[1];
  const OldCells launched = old_cells(program).at(0);
  const ProgramUse use = read_case_records(program).at(0).program;
  EXPECT_EQ(use.processes, launched.at("process"));
  EXPECT_EQ(use.contexts, launched.at("context"));
  EXPECT_EQ(use.streams, launched.at("stream"));
  EXPECT_EQ(use.of_graphs, old_number(launched, "graph"));
}

TEST(Schema2, StreamsAndFilesOfRowsAreConvertedAlike) {
  for (const fs::path& file : old_files()) {
    RowStream stream(file);
    EXPECT_EQ(stream.header() + "\n", csv_header());
    for (const Row& row : read_rows(file)) {
      ASSERT_TRUE(stream.next());
      EXPECT_EQ(stream.record() + "\n", csv_record(row));
    }
    EXPECT_FALSE(stream.next());
  }
}

TEST(Schema2, ARangeOfAnotherMeaningIsNoInterval) {
  const std::vector<Row> rows = parse_rows(
      "schema,experiment,case,device_index,predicted_pct,predicted_low_pct,predicted_high_pct\n"
      "2,waves,a,0,50,40,60\n",
      "old.csv");
  EXPECT_EQ(rows.at(0).predicted_pct, 50);
  EXPECT_FALSE(rows.at(0).predicted_low_pct || rows.at(0).predicted_high_pct);
}

TEST(Schema2, AUsersColumnOfAGoneNameChangesNoRowOfSchema3) {
  Row row;
  row.schema = kSchema;
  row.local_sectors = 12;
  row.predicted_low_pct = 70;
  row.extra = {{"stream", "left"}, {"achieved_source", "mine"}};
  const std::string text =
      csv_header(std::vector<std::string>{"stream", "achieved_source"}) + csv_record(row);
  const Row read = parse_rows(text, "rows").at(0);
  EXPECT_EQ(read.local_sectors, 12);
  EXPECT_EQ(read.predicted_low_pct, 70);
  EXPECT_EQ(read.extra, row.extra);
}

TEST(Schema2, ANumberThatIsNoneIsRefusedByFileLineAndColumn) {
  EXPECT_THAT(message_of([&] {
                parse_rows("schema,experiment,case,local_load_sectors\n2,waves,a,many\n", "old.csv");
              }),
              HasSubstr("old.csv, line 2: 'many' is not a finite number for column local_load_sectors"));
}

}  // namespace
}  // namespace occbench
