#pragma once

#include <optional>
#include <span>
#include <string>

namespace occbench {

/// What a test of two sets of times says.
struct TimeVerdict {
  enum class Answer {
    alike,
    slower,
    faster,
    too_few,  ///< no difference, however large, could have been told from chance
  };
  Answer answer = Answer::alike;
  double change_pct = 0;  ///< of the median; positive is slower
  double p = 1;           ///< one-sided probability of so clear a difference in that direction at random
  std::optional<double> caught_pct;  ///< smallest slow-down that would have been told
};

/// Slower only if all of these say so: the median by more than `limit_pct` and by more than what event times
/// are good for; the quartiles, which must not overlap; Mann and Whitney's U test at one in a thousand.
TimeVerdict compare_times(std::span<const double> baseline_us, std::span<const double> candidate_us,
                          double limit_pct);

/// Ratios of medians, one a pair of runs that ran next to each other. Slower only if all of these say so: the
/// median ratio by more than `limit_pct` and, times `baseline_us`, by more than what event times are good
/// for; the lower quartile, which must be above 1; Wilcoxon's signed-rank test of the ratios' logarithms at
/// one in twenty.
TimeVerdict compare_pair_ratios(std::span<const double> ratios, double baseline_us, double limit_pct);

}  // namespace occbench
