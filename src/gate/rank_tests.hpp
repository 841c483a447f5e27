#pragma once

#include <span>

namespace occbench {

/// Mann and Whitney's U test: the probability of ranks at least this high for `larger` if both samples came
/// from one distribution (one-sided). Exact where neither sample has more than 20 values and no two values
/// are equal (from the number of arrangements with each U); else the normal approximation with corrections
/// for ties and continuity. Mann and Whitney, Annals of Mathematical Statistics 18:50, 1947; the correction
/// for ties as in Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.1. 1 where a sample is
/// empty or all values are equal.
double mann_whitney_p(std::span<const double> larger, std::span<const double> smaller);

/// Wilcoxon's signed-rank test: the probability of a sum of positive ranks at least this high if the
/// differences were symmetric about 0 (one-sided). Differences of 0 are left out, equal ones share their mean
/// rank, and the probability is exact, also then: it counts the choices of signs for these very ranks.
/// Wilcoxon, Biometrics Bulletin 1:80, 1945. 1 where no difference is left.
double signed_rank_p(std::span<const double> differences);

}  // namespace occbench
