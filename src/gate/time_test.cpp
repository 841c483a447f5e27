#include "gate/time_test.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gate/rank_tests.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// An event pair agrees with the GPU's own duration counter to about this; smaller differences are the
/// clock's.
constexpr double kTimerMicroseconds = 1;
/// A suite of a thousand cases tests a thousand times; the limit and the quartiles are stricter still.
constexpr double kSampleLevel = 0.001;
/// Six pairs that all agree reach 1/64.
constexpr double kPairLevel = 0.05;
/// Nobody needs a test to see more than this.
constexpr double kLargestFactor = 64;

/// The test's p if the candidate's median were `factor` times the baseline's; nothing where it would not be
/// told.
using Test = std::function<std::optional<double>(double factor)>;

/// The smallest factor from `least` on that `slower` tells, to a thousandth.
std::optional<double> smallest_told(double least, const Test& slower) {
  if (slower(least)) return least;
  double low = least;
  double high = kLargestFactor;
  if (!slower(high)) return std::nullopt;
  while (high / low > 1.0001) {
    const double middle = std::sqrt(low * high);
    (slower(middle) ? high : low) = middle;
  }
  return high;
}

double least_factor(double limit_pct, double baseline_us) {
  return 1 + std::max(limit_pct / 100, kTimerMicroseconds / baseline_us);
}

std::vector<double> scaled(std::span<const double> values, double factor) {
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= factor;
  return result;
}

std::optional<double> if_at_most(double p, double level) {
  return p <= level ? std::optional(p) : std::nullopt;
}

/// From the test in one direction, which it is also asked in the other with the sides exchanged.
TimeVerdict decide(double factor, double least, const Test& slower, const Test& faster) {
  TimeVerdict verdict;
  verdict.change_pct = 100 * (factor - 1);
  const std::optional<double> told = smallest_told(std::nextafter(least, kLargestFactor), slower);
  if (!told) {
    verdict.answer = TimeVerdict::Answer::too_few;
    return verdict;
  }
  verdict.caught_pct = 100 * (*told - 1);
  if (const auto p = slower(factor)) {
    verdict.answer = TimeVerdict::Answer::slower;
    verdict.p = *p;
  } else if (const auto gain = faster(1 / factor)) {
    verdict.answer = TimeVerdict::Answer::faster;
    verdict.p = *gain;
  }
  return verdict;
}

}  // namespace

TimeVerdict compare_times(std::span<const double> baseline_us, std::span<const double> candidate_us,
                          double limit_pct) {
  if (baseline_us.empty() || candidate_us.empty()) return {TimeVerdict::Answer::too_few, 0, 1, {}};
  // Whether `other`, moved so that its median is `factor` times that of `reference`, is told to be slower.
  const auto test = [limit_pct](std::span<const double> reference, std::span<const double> other,
                                double factor) {
    const Quartiles before = quartiles(reference);
    const std::vector<double> moved = scaled(other, factor * before.median / median(other));
    const bool clear =
        factor > least_factor(limit_pct, before.median) && quartiles(moved).lower > before.upper;
    return clear ? if_at_most(mann_whitney_p(moved, reference), kSampleLevel) : std::nullopt;
  };
  const double before = median(baseline_us);
  return decide(
      median(candidate_us) / before, least_factor(limit_pct, before),
      [&](double factor) { return test(baseline_us, candidate_us, factor); },
      [&](double factor) { return test(candidate_us, baseline_us, factor); });
}

TimeVerdict compare_pair_ratios(std::span<const double> ratios, double baseline_us, double limit_pct) {
  if (ratios.empty()) return {TimeVerdict::Answer::too_few, 0, 1, {}};
  const auto test = [=](std::span<const double> of, double factor) {
    const std::vector<double> moved = scaled(of, factor / median(of));
    const bool clear = factor > least_factor(limit_pct, baseline_us) && quartiles(moved).lower > 1;
    std::vector<double> logarithms(moved.size());
    std::ranges::transform(moved, logarithms.begin(), [](double ratio) { return std::log(ratio); });
    return clear ? if_at_most(signed_rank_p(logarithms), kPairLevel) : std::nullopt;
  };
  std::vector<double> inverse(ratios.size());
  std::ranges::transform(ratios, inverse.begin(), [](double ratio) { return 1 / ratio; });
  return decide(
      median(ratios), least_factor(limit_pct, baseline_us),
      [&](double factor) { return test(ratios, factor); },
      [&](double factor) { return test(inverse, factor); });
}

}  // namespace occbench
