#include <cstdint>

#include <gtest/gtest.h>

#include "kernels/random_words.hpp"
#include "kernels/reductions.hpp"

namespace occbench {
namespace {

TEST(SummationBound, IsHalfAnUlpForOneAdditionAndGrowsWithTheirNumber) {
  EXPECT_DOUBLE_EQ(summation_bound(1), 0x1p-24);
  EXPECT_NEAR(summation_bound(1000), 1000 * 0x1p-24, 1e-8);
  EXPECT_EQ(summation_bound(0), 0);
}

TEST(SummationBound, HoldsForSumsFromFirstToLast) {
  constexpr int kValues = 100'000;
  float sum = 0;
  double exact = 0;
  for (const std::uint32_t word : random_words(kValues)) {
    const float value = static_cast<float>(word >> 8) * 0x1p-24F;
    sum += value;
    exact += static_cast<double>(value);
  }
  const double error = std::abs(static_cast<double>(sum) - exact) / exact;
  EXPECT_GT(error, 0);
  EXPECT_LE(error, summation_bound(kValues));
}

TEST(SummationBound, IsExceededByASumThatLacksItsLastHundredth) {
  constexpr int kValues = 10'000;
  EXPECT_LT(summation_bound(kValues), 0.01);
}

}  // namespace
}  // namespace occbench
