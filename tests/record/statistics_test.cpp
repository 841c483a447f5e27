#include "record/statistics.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace occbench {
namespace {

// Expected values: numpy.quantile(readings, [.25, .5, .75]) of NumPy 2, default method ("linear").
TEST(Statistics, QuartilesAreThoseOfNumpy) {
  const auto expect = [](std::vector<double> readings, double lower, double middle, double upper) {
    const Quartiles found = quartiles(readings);
    EXPECT_DOUBLE_EQ(found.lower, lower);
    EXPECT_DOUBLE_EQ(found.median, middle);
    EXPECT_DOUBLE_EQ(found.upper, upper);
    EXPECT_DOUBLE_EQ(found.range(), upper - lower);
    EXPECT_DOUBLE_EQ(median(readings), middle);
  };
  expect({7}, 7, 7, 7);
  expect({3, 1}, 1.5, 2, 2.5);
  expect({1, 2, 3, 4}, 1.75, 2.5, 3.25);
  expect({2.5, 9, 4, 4, 7.25, 1, 8}, 3.25, 4, 7.625);
}

TEST(Statistics, TheEndsOfTheRangeAreTheExtremes) {
  const std::vector<double> ascending = {1, 5, 6, 90};
  EXPECT_EQ(quantile_of_sorted(ascending, 0), 1);
  EXPECT_EQ(quantile_of_sorted(ascending, 1), 90);
}

}  // namespace
}  // namespace occbench
