#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(NearestNames, AreThoseWithFewestLettersToChange) {
  const std::vector<std::string> known = {"warps", "wraps", "blocks", "warp"};
  EXPECT_THAT(nearest_names("warqs", known, 2), ElementsAre("warps", "warp"));
}

// h200 is one letter away from h100, and still not what is meant.
TEST(NearestNames, AreFirstThoseThatBeginWithWhatWasWanted) {
  const std::vector<std::string> known = {"h200", "b200", "h100-sxm5-80gb", "h100-nvl"};
  EXPECT_THAT(nearest_names("h100", known, 3), ElementsAre("h100-nvl", "h100-sxm5-80gb", "h200"));
}

TEST(NearestNames, AreNoMoreThanAskedForOrKnown) {
  const std::vector<std::string> known = {"warps", "blocks"};
  EXPECT_THAT(nearest_names("threads", known, 1), SizeIs(1));
  EXPECT_THAT(nearest_names("threads", known, 9), SizeIs(2));
  EXPECT_THAT(nearest_names("threads", {}, 9), IsEmpty());
}

}  // namespace
}  // namespace occbench
