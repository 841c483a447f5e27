#include "record/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

TEST(Json, ARowSurvivesTheWayThereAndBack) {
  Row row;
  row.experiment = "block_size";
  row.case_ = "quote \" and \n newline";
  row.schema = kSchema;
  row.dynamic_shared_bytes = std::int64_t{1} << 53;
  row.achieved_pct = 74.94123456789;
  row.extra = {{"dram__bytes.sum", "12"}};
  EXPECT_EQ(parse_rows_json(rows_to_json(std::vector<Row>{row, Row{}}), "text"), (std::vector<Row>{row, {}}));
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

TEST(Json, AValueOfTheWrongKindIsRefusedWithItsColumnAndRow) {
  const auto message = [](const char* text) -> std::string {
    try {
      parse_rows_json(text, "rows.json");
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message(R"([{"case": "a"}, {"sm_count": "many"}])"),
            "rows.json, row 2: \"many\" is not a whole number for column sm_count");
  EXPECT_EQ(message(R"([{"sm_count": 1.5}])"),
            "rows.json, row 1: 1.5 is not a whole number for column sm_count");
  EXPECT_EQ(message(R"([{"case": 1}])"), "rows.json, row 1: 1 is not a text for column case");
  EXPECT_EQ(message(R"({"case": "a"})"), "rows.json: not an array of rows");
  EXPECT_NE(message("[{]").find("rows.json: "), std::string::npos);
  EXPECT_NE(message("[{]").find("line 1, column 3"), std::string::npos);
}

std::string refusal_of_json(const std::string& text) {
  try {
    parse_json(text, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Json, NestedTooDeepIsRefusedAndNotWrittenIntoAMessage) {
  const auto nested = [](std::size_t depth, char open, char close) {
    return std::string(depth, open) + std::string(depth, close);
  };
  EXPECT_EQ(refusal_of_json(nested(64, '[', ']')), "accepted");
  EXPECT_EQ(refusal_of_json(nested(65, '[', ']')),
            "FILE has objects or arrays within each other deeper than 64");
  EXPECT_EQ(refusal_of_json(nested(1'000'000, '[', ']')), refusal_of_json(nested(65, '[', ']')));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal_of_json(objects), refusal_of_json(nested(65, '[', ']')));
}

TEST(Json, WithAKeyTwiceOrANulIsRefused) {
  EXPECT_EQ(refusal_of_json(R"({"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]})"), "accepted");
  EXPECT_EQ(refusal_of_json(R"({"b": {"a": 1, "a": 2}})"), "FILE: the key \"a\" stands in an object twice");
  EXPECT_EQ(refusal_of_json(std::string("{}\0", 3)), "FILE has a NUL character; JSON is text");
  EXPECT_EQ(refusal_of_json(std::string("{}\0{\"a\":", 8)), "FILE has a NUL character; JSON is text");
}

TEST(Json, BytesThatAreNotUtf8DoNotStopTheOutput) {
  Row row;
  row.note = "caf\xE9";
  EXPECT_EQ(nlohmann::json::parse(rows_to_json(std::vector<Row>{row}))[0]["note"], "caf\uFFFD");
}

}  // namespace
}  // namespace occbench
