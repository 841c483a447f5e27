#include "record/progress_lines.hpp"

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

TEST(ProgressLines, SurviveTheWayThereAndBackInOneLineEach) {
  Row row;
  row.experiment = "waves";
  row.case_ = "spin";
  row.note = "two\nlines, and a \"quote\"";
  row.achieved_pct = 74.0625;
  const std::string ended = progress_line(CaseEnded{row});
  EXPECT_EQ(ended.find('\n'), ended.size() - 1);
  EXPECT_EQ(std::get<CaseEnded>(parse_progress_line(ended)).row, row);
  EXPECT_EQ(std::get<CaseBegun>(parse_progress_line(progress_line(CaseBegun{"spin"}))).name, "spin");
}

TEST(ProgressLines, AnythingElseIsRefused) {
  for (const char* line :
       {"", "text", "{}", "[]", "{\"begun\": 1}", "{\"ended\": 1}", "{\"ended\": {\"sm_count\": -1}}"})
    EXPECT_THROW(parse_progress_line(line), InputError) << line;
}

}  // namespace
}  // namespace occbench
