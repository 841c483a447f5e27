#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "record/row_stream.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

const std::string kResults = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/";

std::string refusal_of(const std::string& text, const std::string& source = "FILE") {
  return message_of([&] { parse_rows(text, source); });
}

TEST(FileKind, OfRecordedRowsIsRows) {
  for (const char* file : {"full.csv", "validation.csv", "advice.csv", "calibration.csv"})
    EXPECT_EQ(what_else_it_is(read_text(kResults + file), file), "") << file;
  EXPECT_EQ(what_else_it_is("", "empty.csv"), "");
  EXPECT_EQ(what_else_it_is("some,other,table\n1,2,3\n", "other.csv"), "");
}

TEST(FileKind, OfARecordingBesideRowsIsNamedWithTheCommandThatReadsIt) {
  const auto refusal_of_recorded = [](const std::string& file) {
    return refusal_of(read_text(kResults + file), file);
  };
  EXPECT_THAT(refusal_of_recorded("per_sm/waves.spin_plain_waves=1.50.per_sm.csv"),
              HasSubstr("by SM; occbench report FILE.csv --per-sm FOLDER"));
  EXPECT_THAT(refusal_of_recorded("timeline/waves.spin_plain_waves=1.50.timeline.csv"),
              HasSubstr("over time; occbench report FILE.csv --timeline FOLDER"));
  EXPECT_THAT(refusal_of_recorded("per_sm/traced.samples.csv"),
              HasSubstr("(samples); name the file of rows: per_sm/traced.csv"));
  EXPECT_THAT(refusal_of_recorded("full.samples.csv.gz"), HasSubstr("(samples)")) << "whatever compressed it";
  EXPECT_THAT(refusal_of_recorded("h200_recorded.profile"), HasSubstr("occbench predict --profile"));
  EXPECT_THAT(refusal_of_recorded("waves.svg"), testing::AnyOf(HasSubstr("no column"), HasSubstr("line 1")));
}

TEST(FileKind, OfASingleLineWithoutAnEndIsNamedToo) {
  TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "tolerances.json";
  std::ofstream(file) << "{\"all\": {}}";
  EXPECT_THAT(
      [&] { RowStream stream(file); },
      testing::ThrowsMessage<InputError>(HasSubstr("tolerances.json is no file of rows: it is JSON")));
}

TEST(FileKind, OfWhatOtherCommandsAndToolsWriteIsNamed) {
  const std::pair<const char*, const char*> kinds[] = {
      {"<!DOCTYPE html>\n<html>", "it is a page, as occbench report writes it"},
      {"\n  <html lang=en>", "it is a page"},
      {"<?xml version=\"1.0\"?>", "it is XML"},
      {"{\"traceEvents\": []}", "occbench trace --import"},
      {"{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [", "occbench trace --import"},
      {"{\"all\": {}}", "it is JSON"},
      {"[\n {}]", "it is JSON"},
      {"\xEF\xBB\xBF{}", "it is JSON"},
      {"SQLite format 3\0", "Nsight Systems"},
      {"\x7f"
       "ELF\x02",
       "occbench calc --from reads its kernels"},
      {"!<arch>\n", "occbench calc --from reads its kernels"},
      {"\"ID\",\"Process ID\",\"Process Name\"\n", "occbench_tools compare-ncu"},
      {"compute_capability,block_threads,registers_per_thread\n", "occbench calc --batch answers them"},
      {"schema,experiment,compute_capability,theoretical_pct\n", "a column case"},
      {"compute_capability,max_warps_per_sm\n", "occbench calc --limits"},
  };
  for (const auto& [text, what] : kinds) {
    EXPECT_THAT(refusal_of(text),
                testing::AllOf(testing::StartsWith("FILE is no file of rows: "), HasSubstr(what)))
        << text;
  }
}

}  // namespace
}  // namespace occbench
