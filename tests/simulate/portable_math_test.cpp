#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "simulate/draws.hpp"

namespace occbench {
namespace {

TEST(PortableMath, LogarithmAgreesWithTheCLibraryFromTheSmallestDrawToTheLargestFactor) {
  for (double x = 0x1p-53; x < 1e9; x *= 1.0137) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-16 + 4e-16 * std::abs(std::log(x))) << x;
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
}

TEST(PortableMath, ExponentialAgreesWithTheCLibrary) {
  for (double x = -40; x <= 40; x += 0.0173) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-15) << x;
  }
}

TEST(PortableMath, RandomBitsAreThoseOfSplitmix64) {
  // The stream whose generator starts at 1234567, the seed for which implementations of splitmix64 publish
  // their first outputs.
  constexpr std::uint64_t stream = 11906536674387683726u;
  constexpr std::array<std::uint64_t, 5> published{6457827717110365317u, 3203168211198807973u,
                                                   9817491932198370423u, 4593380528125082431u,
                                                   16408922859458223821u};
  for (std::uint64_t draw = 0; draw < published.size(); ++draw) {
    EXPECT_EQ(random_bits(stream, draw), published[draw]);
  }
}

TEST(PortableMath, NormalDeviatesHaveMeanZeroVarianceOneAndNormalTails) {
  constexpr int count = 200'000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < count; ++i) {
    const double z = random_normal(5, static_cast<std::uint64_t>(i));
    sum += z;
    squares += z * z;
    beyond_two += std::abs(z) > 2;
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.015);
  EXPECT_NEAR(static_cast<double>(beyond_two) / count, 0.0455, 0.002);
}

}  // namespace
}  // namespace occbench
