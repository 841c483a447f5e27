#include "record/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
  try {
    parse_json("[{]", "rows.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rows.json: "), HasSubstr("line 1, column 3")));
  }
}

TEST(Json, BytesThatAreNotUtf8DoNotStopTheOutput) {
  Row row;
  row.note = "caf\xE9";
  EXPECT_EQ(nlohmann::json::parse(json_text(row_to_json(row)))["note"], "caf\uFFFD");
}

}  // namespace
}  // namespace occbench
