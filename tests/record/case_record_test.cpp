#include "record/case_record.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// The files of whole rows that come with the project, and not those of other tables.
std::vector<fs::path> recorded_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"results", "tests/data"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(OCCBENCH_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".csv") continue;
      const CsvTable table = parse_csv(read_text(entry.path()), entry.path().string());
      if (std::ranges::find(table.names, "time_status") != table.names.end()) files.push_back(entry.path());
    }
  }
  return files;
}

/// A row of before predictions had intervals is one without a prediction.
void forget_prediction(Row& row) {
  for (const Column& column : columns()) {
    if (column.name.starts_with("predicted_") || column.name.starts_with("loss_")) set_cell(row, column, "");
  }
}

TEST(CaseRecord, EveryRecordedRowSurvivesTheWayThereAndBack) {
  std::size_t rows = 0;
  for (const fs::path& file : recorded_files()) {
    for (Row& row : read_rows(file)) {
      if (!row.predicted_low_pct) forget_prediction(row);
      ASSERT_EQ(csv_record(row_of(case_record(row))), csv_record(row)) << file;
      ++rows;
    }
  }
  EXPECT_GT(rows, 2000U);
}

Row small_row() {
  Row row;
  row.experiment = "waves";
  row.case_ = "spin";
  return row;
}

TEST(CaseRecord, WhatARowDoesNotSayIsEmptyAndStaysSo) {
  const CaseRecord record = case_record(small_row());
  EXPECT_FALSE(record.launch || record.compiled || record.theory || record.prediction || record.check ||
               record.times.status || record.readings.status || record.identity.work || record.first_gpc);
  EXPECT_EQ(row_of(record), small_row());
}

TEST(CaseRecord, WordsOfARowAreValues) {
  Row row = small_row();
  row.compute_capability = "9.0";
  row.parameters = "chains=4;text=a=b";
  row.work = "equal:1000";
  row.theoretical_pct = 50;
  row.limiter = "warps+shared_memory";
  row.time_status = "throttled";
  row.counters_status = "busy";
  row.check = "wrong";
  row.achieved_pct = 40;
  const CaseRecord record = case_record(row);
  EXPECT_EQ(record.provenance.compute_capability, (ComputeCapability{9, 0}));
  EXPECT_THAT(record.identity.parameters, ElementsAre(Pair("chains", "4"), Pair("text", "a=b")));
  EXPECT_EQ(*find_parameter(record.identity, "chains"), "4");
  EXPECT_EQ(find_parameter(record.identity, "bytes"), nullptr);
  EXPECT_EQ(record.identity.work->cycles, 1000);
  EXPECT_EQ(record.theory->limiters, (Limiters{Limiter::warps, Limiter::shared_memory}));
  EXPECT_EQ(record.times.status, TimeStatus::throttled);
  EXPECT_EQ(record.readings.status, CountersStatus::busy);
  EXPECT_EQ(record.check, Check::wrong);
  EXPECT_EQ(record.readings.achieved_source, AchievedSource::trace);
}

TEST(CaseRecord, APredictionThatLacksAFigureIsNone) {
  Row row = small_row();
  row.device_profile = "h200";
  row.predicted_pct = 90;
  const CaseRecord record = case_record(row);
  EXPECT_FALSE(record.prediction);
  EXPECT_EQ(record.device_profile, "h200");
}

TEST(CaseRecord, AWordThatItsColumnDoesNotHaveIsRefusedByCaseColumnAndWords) {
  const std::pair<Text Row::*, const char*> columns[] = {
      {&Row::time_status, "time_status = 'perhaps' is none of ok, unstable, throttled, failed, skipped"},
      {&Row::counters_status, "counters_status = 'perhaps' is none of ok, denied"},
      {&Row::check, "check = 'perhaps' is none of ok, wrong, none, lost_updates"},
      {&Row::gpu_state, "gpu_state = 'perhaps' has no key=value in 'perhaps'"},
      {&Row::origin, "origin = 'perhaps' has no key=value in 'perhaps'"},
      {&Row::parameters, "parameters = 'perhaps' has no key=value"},
      {&Row::limiter, "there is no limiter 'perhaps'"}};
  for (const auto& [column, message] : columns) {
    Row row = small_row();
    row.theoretical_pct = 50;
    row.*column = "perhaps";
    EXPECT_THAT(message_of([&] { case_record(row); }),
                testing::AllOf(HasSubstr("waves/spin: "), HasSubstr(message)));
  }
}

TEST(CaseRecord, AWholeNumberOutOfItsColumnsRangeIsRefused) {
  Row row = small_row();
  row.sm_count = -5;
  EXPECT_THROW(case_record(row), InputError);
}

TEST(CaseRecord, AReadingThatNoReaderAcceptsIsLeftOutAndNotedSoThatItsRowCanBeRead) {
  CaseRecord record = case_record(small_row());
  record.readings.counters.achieved_pct = 1e300;
  record.readings.counters.issue_active_pct = 12;
  const Row row = row_of(record);
  EXPECT_FALSE(row.achieved_pct);
  EXPECT_EQ(row.issue_active_pct, 12);
  EXPECT_THAT(row.note, HasSubstr("left out: achieved_pct = 1e+300 is out of range"));
  EXPECT_NO_THROW(case_record(row));
}

TEST(CaseRecord, AWordThatItsColumnDoesNotHaveIsRefusedWithFileAndLine) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "rows.csv";
  Row wrong = small_row();
  wrong.compute_capability = "x";
  std::ofstream(file) << csv_header() << csv_record(small_row()) << csv_record(wrong);
  EXPECT_THAT(message_of([&] { read_case_records(file); }),
              testing::StartsWith(file.string() + ", line 3: waves/spin: 'x'"));
}

TEST(CaseRecord, ACaseOfAFileKnowsItsPlace) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "rows.csv";
  Row noted = small_row();
  noted.note = "two\nlines";
  std::ofstream(file) << csv_header() << csv_record(noted) << csv_record(small_row());
  EXPECT_EQ(place_of(read_case_records(file).at(1)), file.string() + ", line 4: waves/spin");
  EXPECT_EQ(place_of(case_record(small_row())), "waves/spin");
}

TEST(CaseRecord, NotesAreAddedAndNothingAddsNothing) {
  std::string note;
  add_note(note, "");
  EXPECT_EQ(note, "");
  add_note(note, "first");
  add_note(note, "");
  add_note(note, "second");
  EXPECT_EQ(note, "first; second");
}

TEST(CaseRecord, SaysWhetherAPredictionUsesAReadingOfTheSameCode) {
  EXPECT_EQ(source_of_given(parse_work("equal:24768:issue=24768")), "given");
  EXPECT_EQ(source_of_given(parse_work("equal:24768:issue=24768:lockstep=126000")), "reading");
}

}  // namespace
}  // namespace occbench
