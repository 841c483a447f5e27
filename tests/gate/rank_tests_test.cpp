#include "gate/rank_tests.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace occbench {
namespace {

// Table I of Mann and Whitney (1947), n = 4 and m = 3: the probability of a U of at most 0, 1, ... 6,
// to three decimals.
TEST(MannWhitney, AgreesWithThePublishedTable) {
  const std::vector<double> published = {.028, .057, .114, .200, .314, .429, .571};
  // The three small values move up through 10, 20, 30 and 40: each step raises U by one.
  const std::vector<std::vector<double>> smaller = {{1, 2, 3},  {1, 2, 11},  {1, 2, 21}, {1, 2, 31},
                                                    {1, 2, 41}, {1, 11, 41}, {1, 21, 41}};
  for (std::size_t u = 0; u < smaller.size(); ++u) {
    EXPECT_NEAR(mann_whitney_p(std::vector<double>{10, 20, 30, 40}, smaller[u]), published[u], 0.001)
        << "U = " << u;
  }
}

// The expected values of the next tests were printed by SciPy 1.17.1, for example:
// scipy.stats.mannwhitneyu(x, y, alternative="greater", method="exact").pvalue
TEST(MannWhitney, IsExactForFewValuesWithoutTies) {
  const std::vector<double> x = {19, 22, 16, 29, 24};
  const std::vector<double> y = {20, 11, 17, 12};
  EXPECT_NEAR(mann_whitney_p(x, y), 0.05555555555555555, 1e-12);
  EXPECT_NEAR(mann_whitney_p(y, x), 0.9682539682539683, 1e-12);
  const std::vector<double> twenty = {101.346, 101.822, 101.33,  99.697,  101.905, 101.446, 100.463,
                                      101.581, 101.365, 101.294, 101.028, 101.547, 100.264, 100.837,
                                      100.518, 101.599, 101.04,  100.708, 100.218, 100.743};
  const std::vector<double> seventeen = {100.008, 99.724,  101.293, 101.007, 97.289,  98.111,
                                         99.825,  99.578,  100.214, 100.217, 102.118, 98.888,
                                         99.622,  102.043, 100.647, 100.663, 99.486};
  EXPECT_NEAR(mann_whitney_p(twenty, seventeen), 0.001260096975142678, 1e-12);
}

TEST(MannWhitney, CorrectsTheNormalApproximationForTies) {
  const std::vector<double> x = {99,  101, 101, 99, 100, 100, 100, 100, 101, 101, 100, 101, 101, 101, 100,
                                 101, 100, 101, 99, 101, 100, 99,  100, 101, 101, 100, 99,  101, 100, 101};
  const std::vector<double> y = {101, 98,  100, 101, 100, 99,  101, 100, 101, 100, 99,  100, 100,
                                 101, 100, 98,  99,  101, 101, 99,  100, 100, 100, 101, 100};
  EXPECT_NEAR(mann_whitney_p(x, y), 0.11912266156588941, 1e-12);
}

TEST(MannWhitney, UsesTheNormalApproximationFromTwentyOneValuesOn) {
  const std::vector<double> x = {100.4052, 100.2412, 101.5557, 98.2491,  100.3613, 100.533,  99.0747,
                                 100.8328, 99.8487,  101.3624, 100.3744, 101.1692, 101.7188, 100.8829,
                                 99.6243,  98.9857,  102.2534, 100.3887, 99.8114,  100.6443, 100.3086};
  const std::vector<double> y = {100.8521, 100.0339, 100.0137, 99.2854,
                                 100.4696, 98.9661,  100.6659, 101.5239};
  EXPECT_NEAR(mann_whitney_p(x, y), 0.3391597059724288, 1e-12);
}

TEST(MannWhitney, SaysNothingWhereThereIsNothingToRank) {
  EXPECT_EQ(mann_whitney_p({}, std::vector<double>{1}), 1);
  EXPECT_EQ(mann_whitney_p(std::vector<double>{5, 5}, std::vector<double>{5, 5, 5}), 1);
}

// Darwin's fifteen pairs of plants (The Effects of Cross and Self Fertilisation, 1876), the example of Fisher
// and of scipy.stats.wilcoxon: wilcoxon(d, alternative="greater", method="exact").pvalue
TEST(SignedRank, AgreesOnDarwinsPlants) {
  std::vector<double> differences = {6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75};
  EXPECT_NEAR(signed_rank_p(differences), 0.0206298828125, 1e-12);
  for (double& difference : differences) difference = -difference;
  EXPECT_NEAR(signed_rank_p(differences), 0.982330322265625, 1e-12);
}

TEST(SignedRank, AllOfSixPairsInOneDirectionIsOneIn64) {
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5, 6}), 1.0 / 64);
}

TEST(SignedRank, CountsTheSignsOfEqualDifferencesOneByOne) {
  const std::vector<double> differences = {2, 2, -1, 3, 0};
  // Ranks 2.5, 2.5, 1, 4: of the 16 choices of signs, those whose positive ranks add up to 9 or more.
  int at_least = 0;
  for (int signs = 0; signs < 16; ++signs) {
    const double sum =
        (signs & 1 ? 2.5 : 0) + (signs & 2 ? 2.5 : 0) + (signs & 4 ? 1 : 0) + (signs & 8 ? 4 : 0);
    at_least += sum >= 9;
  }
  EXPECT_DOUBLE_EQ(signed_rank_p(differences), at_least / 16.0);
}

TEST(SignedRank, SaysNothingWhereNothingDiffers) {
  EXPECT_EQ(signed_rank_p({}), 1);
  EXPECT_EQ(signed_rank_p(std::vector<double>{0, 0, 0}), 1);
}

}  // namespace
}  // namespace occbench
