#include "fleet/outliers.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "fleet/events.hpp"

namespace occbench {
namespace {

TEST(StudentTail, IsThatOfTables) {
  // Two-sided critical values: 12.706 at one degree of freedom, 2.228 at ten, 3.169 at ten for 1 %.
  EXPECT_NEAR(student_two_sided(12.706, 1), 0.05, 1e-5);
  EXPECT_NEAR(student_two_sided(-2.228, 10), 0.05, 1e-4);
  EXPECT_NEAR(student_two_sided(3.169, 10), 0.01, 1e-5);
  EXPECT_NEAR(student_two_sided(1.959964, 1e7), 0.05, 1e-6);
  EXPECT_DOUBLE_EQ(student_two_sided(0, 5), 1);
}

TEST(BinomialTail, IsTheSumOfItsTerms) {
  EXPECT_NEAR(binomial_tail(2, 3, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(binomial_tail(1, 10, 0.1), 1 - 0.3486784401, 1e-10);
  EXPECT_NEAR(binomial_tail(0, 10, 0.1), 1, 1e-12);
}

TEST(Spread, OfManyValuesIsTheirOwnWhateverAFewOutliersDo) {
  std::vector<double> values;
  for (int i = 0; i < 1001; ++i) values.push_back((i - 500) / 500.0);  // median absolute deviation 0.5
  for (int i = 0; i < 20; ++i) values.push_back(1e6);
  const Spread spread = spread_of(values, {.sigma = 0.01, .degrees = 4});
  EXPECT_NEAR(spread.sigma, 1.4826 * 0.5, 0.03);
  EXPECT_NEAR(spread.median, 0.02, 0.005);
}

TEST(Spread, OfEqualValuesIsTheNaturalOne) {
  const std::vector<double> equal(3, 7.0);
  const Spread spread = spread_of(equal, {.sigma = 0.1, .degrees = 4});
  EXPECT_EQ(spread.median, 7);
  EXPECT_GT(spread.sigma, 0.08);
  EXPECT_LE(spread.sigma, 0.1);
  EXPECT_LT(chance_of(8, spread, 3), 0.01);
  EXPECT_GT(chance_of(7.1, spread, 3), 0.15);
}

}  // namespace
}  // namespace occbench
