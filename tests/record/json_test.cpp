#include "record/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
