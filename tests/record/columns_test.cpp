#include "record/columns.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/case_record.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "record/provenance.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::system_clock;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Columns, NamesAreUniqueAndOfOneForm) {
  std::set<std::string_view> names;
  for (const Column& column : columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_THAT(std::string(column.name), testing::MatchesRegex("[a-z][a-z0-9_]*[a-z0-9]"));
    EXPECT_FALSE(column.meaning.empty()) << column.name;
  }
}

TEST(Columns, UnitsFollowTheNames) {
  const std::map<std::string_view, std::string_view> units = {
      {"_pct", "%"}, {"_points", "points"}, {"_us", "us"}, {"_mhz", "MHz"}};
  for (const Column& column : columns()) {
    for (const auto& [ending, unit] : units) {
      if (!column.name.ends_with(ending)) continue;
      EXPECT_EQ(column.unit, unit) << column.name;
    }
  }
}

TEST(Columns, WhatWasNotMeasuredIsEmptyAndZeroIsNot) {
  Row row;
  const Column& achieved = *find_column("achieved_pct");
  EXPECT_EQ(cell_text(row, achieved), "");
  set_cell(row, achieved, "0");
  EXPECT_EQ(row.achieved_pct, 0.0);
  EXPECT_EQ(cell_text(row, achieved), "0");
  set_cell(row, achieved, "");
  EXPECT_FALSE(row.achieved_pct);
}

TEST(Columns, ACellThatIsNotItsColumnsTypeIsRefusedByName) {
  Row row;
  for (const char* text : {"x", "1.5", "9999999999999999999", "1 ", " 1", "+1", "0x10"}) {
    EXPECT_THROW(set_cell(row, *find_column("sm_count"), text), InputError) << text;
  }
  for (const char* text : {"nan", "inf", "1e999", "1,5", "12 %"}) {
    EXPECT_THROW(set_cell(row, *find_column("achieved_pct"), text), InputError) << text;
  }
}

std::string refusal(const char* column, const char* text) {
  Row row;
  return message_of([&] { set_cell(row, *find_column(column), text); });
}

TEST(Columns, AWholeNumberOutOfItsColumnsRangeIsRefusedWithNameValueAndRange) {
  EXPECT_EQ(refusal("sm_count", "-5"), "sm_count = -5 is out of range: it is 1 to 1024");
  EXPECT_EQ(refusal("sm_count", "0"), "sm_count = 0 is out of range: it is 1 to 1024");
  EXPECT_EQ(refusal("sm_count", "2000000000"), "sm_count = 2000000000 is out of range: it is 1 to 1024");
  EXPECT_EQ(refusal("spill_bytes", "-1"), "spill_bytes = -1 is out of range: it is 0 or more");
  EXPECT_EQ(refusal("sm_count", "1024"), "nothing was thrown");
  EXPECT_EQ(refusal("sm_count", "1"), "nothing was thrown");
}

TEST(Columns, AMeasuredNumberOutOfItsColumnsRangeIsRefusedWithNameValueAndRange) {
  EXPECT_EQ(refusal("achieved_pct", "1e300"), "achieved_pct = 1e+300 is out of range: it is 0 to 1000");
  EXPECT_EQ(refusal("achieved_pct", "-0.5"), "achieved_pct = -0.5 is out of range: it is 0 to 1000");
  EXPECT_THAT(refusal("time_us", "-3"), testing::HasSubstr("time_us = -3 is out of range: it is 0 to 1"));
  EXPECT_THAT(refusal("time_us", "1e300"), testing::HasSubstr("time_us = 1e+300 is out of range"));
  EXPECT_THAT(refusal("loss_tail_points", "-1e5"), testing::HasSubstr("it is -10000 to 10000"));
  EXPECT_EQ(refusal("registers_per_thread", "100000"),
            "registers_per_thread = 100000 is out of range: it is 0 to 1024");
  const std::pair<const char*, const char*> inside[] = {{"achieved_pct", "100.3"},
                                                        {"time_us", "0"},
                                                        {"loss_tail_points", "-3"},
                                                        {"registers_per_thread", "255"},
                                                        {"time_spread_pct", "2500"}};
  for (const auto& [column, text] : inside) EXPECT_EQ(refusal(column, text), "nothing was thrown") << column;
}

TEST(Columns, EveryNumberOfAMeasurementHasALowestAndAHighestValue) {
  for (const Column& column : columns()) {
    if (type_name(column) != "real") continue;
    EXPECT_THAT(refusal(std::string(column.name).c_str(), "-1e300"), testing::HasSubstr("out of range"));
    EXPECT_THAT(refusal(std::string(column.name).c_str(), "1e300"), testing::HasSubstr("out of range"));
  }
}

/// A row is read by people too, and schema 3 is frozen.
TEST(Columns, AreAtMostEighty) {
  EXPECT_LE(columns().size(), 80U);
}

TEST(Columns, EveryCounterHasAPlaceOfItsOwnAndNoOtherColumnHasOne) {
  CounterValues values;
  for (const Column& column : columns()) {
    if (!column.counter) continue;
    EXPECT_FALSE(column.counter->metric.empty()) << column.name;
    EXPECT_FALSE(values.*column.counter->value) << column.name << " shares its place";
    values.*column.counter->value = 1;
  }
  EXPECT_TRUE(values.achieved_pct && values.local_sectors);
}

TEST(ColumnList, EveryFormatHasEveryColumn) {
  const auto json = nlohmann::json::parse(column_list("json"));
  const CsvTable csv = parse_csv(column_list("csv"), "csv");
  const std::string table = column_list("table");
  ASSERT_EQ(json.size(), columns().size());
  ASSERT_EQ(csv.rows.size(), columns().size());
  for (std::size_t i = 0; i < columns().size(); ++i) {
    const Column& column = columns()[i];
    EXPECT_EQ(json[i]["name"], column.name);
    EXPECT_EQ(json[i]["unit"], column.unit);
    EXPECT_EQ(json[i]["meaning"], column.meaning);
    EXPECT_EQ(csv.rows[i][0], column.name);
    EXPECT_EQ(csv.rows[i][5], column.meaning);
    EXPECT_THAT(table, testing::HasSubstr(std::string(column.meaning)));
  }
  const auto experiment =
      std::ranges::find_if(json, [](const auto& column) { return column["name"] == "experiment"; });
  ASSERT_NE(experiment, json.end());
  EXPECT_EQ((*experiment)["type"], "text");
  EXPECT_EQ((*experiment)["gate"], "key");
}

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
  EXPECT_EQ(record.readings.achieved_source, AchievedSource::warp_records);
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
  EXPECT_THAT(row.note, HasSubstr("not recorded: achieved_pct = 1e+300 is out of range"));
  EXPECT_NO_THROW(case_record(row));
}

TEST(CaseRecord, UnitsAreKeysOfOneColumnAndThoseOfANewerVersionAreLeftAside) {
  Row row = small_row();
  row.unit_use = "fma=51.5;tensor=0;tmem=7";
  const CaseRecord record = case_record(row);
  EXPECT_EQ(record.readings.counters.fma_use_pct, 51.5);
  EXPECT_EQ(record.readings.counters.tensor_use_pct, 0);
  EXPECT_FALSE(record.readings.counters.l2_use_pct);
  EXPECT_EQ(row_of(record).unit_use, "fma=51.5;tensor=0");
  for (const char* bad : {"fma=-1", "fma=1001", "fma=", "fma=nan"}) {
    row.unit_use = bad;
    EXPECT_THAT(message_of([&] { case_record(row); }),
                testing::AllOf(HasSubstr("waves/spin: "), HasSubstr("is no number from 0 to 1000")))
        << bad;
  }
  CaseRecord beyond = record;
  beyond.readings.counters.xu_use_pct = 1e300;
  EXPECT_EQ(row_of(beyond).unit_use, "fma=51.5;tensor=0");
  EXPECT_THAT(row_of(beyond).note, HasSubstr("not recorded: xu_use_pct = 1e+300 is out of range"));
}

TEST(CaseRecord, AUnitsCounterStandsInTheMeaningOfItsColumn) {
  const std::string_view meaning = find_column("unit_use")->meaning;
  for (const Unit& unit : units()) {
    const std::string metric(unit.counter.metric.substr(0, unit.counter.metric.find('.')));
    const std::string family =
        metric.starts_with("sm__inst_executed_pipe_") ? "sm__inst_executed_pipe_*" : metric;
    EXPECT_THAT(meaning, testing::AllOf(HasSubstr(family), HasSubstr(unit.key))) << unit.key;
  }
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

// 951782400 is the worked example of date(1): `date -u -d @951782400` is 29 February 2000, midnight.
TEST(Provenance, TimesAreUtcInIso8601) {
  const system_clock::time_point leap_day{seconds{951782400}};
  EXPECT_EQ(iso_time(leap_day), "2000-02-29T00:00:00Z");
  EXPECT_EQ(parse_iso_time("2000-02-29T00:00:00Z"), leap_day);
  EXPECT_EQ(parse_iso_time("2000-02-29T01:01:01Z") - leap_day, seconds{3661});
}

// date -u -d 0020-01-01 +%s
TEST(Provenance, ReadsYearsThatNanosecondsCannotReach) {
  EXPECT_EQ(parse_iso_time("0020-01-01T00:00:00Z").time_since_epoch(), seconds{-61536067200});
}

TEST(Provenance, RefusesOtherFormsOfATime) {
  for (const char* text :
       {"", "2000-02-29", "2000-02-29 00:00:00", "2000-02-29T00:00:00", "2000-02-29T00:00:00Z+1", "now"}) {
    EXPECT_THROW(parse_iso_time(text), InputError) << text;
  }
}

TEST(Provenance, TheMachineHasAName) {
  EXPECT_FALSE(host_name().empty());
}

TEST(Json, TheNamesAreTheColumnsAndWhatWasNotMeasuredIsNull) {
  Row row;
  row.block_threads = 256;
  const nlohmann::ordered_json object = row_to_json(row);
  EXPECT_EQ(object.at("block_threads"), 256);
  EXPECT_TRUE(object.at("achieved_pct").is_null());
  EXPECT_EQ(object.at("case"), "");
  EXPECT_EQ(object.size(), columns().size());
  EXPECT_EQ(object.begin().key(), "schema");
}

TEST(Json, TextThatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_THAT(message_of([&] { parse_json("[{]", "rows.json"); }),
              AllOf(HasSubstr("rows.json: "), HasSubstr("line 1, column 3")));
}

std::string refusal_of_json(const std::string& text) {
  return message_of([&] { parse_json(text, "FILE"); });
}

TEST(Json, NestedTooDeepIsRefusedAndNotWrittenIntoAMessage) {
  const auto nested = [](std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
  };
  EXPECT_EQ(refusal_of_json(nested(64, '[', ']')), "nothing was thrown");
  EXPECT_EQ(refusal_of_json(nested(65, '[', ']')),
            "FILE has objects or arrays within each other deeper than 64");
  EXPECT_EQ(refusal_of_json(nested(1'000'000, '[', ']')), refusal_of_json(nested(65, '[', ']')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal_of_json(objects), refusal_of_json(nested(65, '[', ']')));
}

TEST(Json, WithAKeyTwiceOrANulIsRefused) {
  EXPECT_EQ(refusal_of_json(R"({"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]})"), "nothing was thrown");
  EXPECT_EQ(refusal_of_json(R"({"b": {"a": 1, "a": 2}})"), "FILE: the key \"a\" stands in an object twice");
  EXPECT_EQ(refusal_of_json(std::string("{}\0", 3)), "FILE has a NUL character; JSON is text");
  EXPECT_EQ(refusal_of_json(std::string("{}\0{\"a\":", 8)), "FILE has a NUL character; JSON is text");
}

TEST(Json, BytesThatAreNotUtf8DoNotStopTheOutput) {
  Row row;
  row.note = "caf\xE9";
  EXPECT_EQ(nlohmann::json::parse(json_text(row_to_json(row)))["note"], "caf\uFFFD");
}

}  // namespace
}  // namespace occbench
