#include "record/columns.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

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

}  // namespace
}  // namespace occbench
