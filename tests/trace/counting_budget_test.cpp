#include <gtest/gtest.h>

#include "trace/context_counter.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;

TEST(CountingBudget, AllowsAFiftiethOfTheTimeSinceTheFirst) {
  const CountingBudget::Clock::time_point begin{1h};
  CountingBudget budget;
  EXPECT_FALSE(budget.allows(begin)) << "nothing was counted";
  budget.spend(begin, begin + 20ms);
  EXPECT_FALSE(budget.allows(begin + 20ms));
  budget.spend(begin + 500ms, begin + 512ms);
  EXPECT_FALSE(budget.allows(begin + 1599ms));
  EXPECT_TRUE(budget.allows(begin + 1600ms)) << "32 ms of 1,600";
  budget.spend(begin + 1600ms, begin + 1640ms);
  EXPECT_FALSE(budget.allows(begin + 3599ms));
  EXPECT_TRUE(budget.allows(begin + 3600ms));
}

}  // namespace
}  // namespace occbench
