#include "record/progress_lines.hpp"

#include <gtest/gtest.h>

namespace occbench {
namespace {

TEST(ProgressLines, SurviveTheWayThereAndBackInOneLineEach) {
  for (const bool ended : {false, true}) {
    std::string line = progress_line({"waves/spin/plain/a b", ended});
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    line.pop_back();
    EXPECT_EQ(parse_progress_line(line)->full_name, "waves/spin/plain/a b");
    EXPECT_EQ(parse_progress_line(line)->ended, ended);
  }
}

TEST(ProgressLines, AnythingElseIsNone) {
  for (const char* line : {"", "text", "begun", "Ended waves/spin", "{\"begun\": 1}"})
    EXPECT_FALSE(parse_progress_line(line)) << line;
}

}  // namespace
}  // namespace occbench
