#include "gate/rank_tests.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

namespace occbench {
namespace {

constexpr std::size_t kMostForExact = 20;

struct Ranks {
  std::vector<std::int64_t> doubled;  ///< twice the rank from 1, so that the mean rank of ties is whole
  double tie_term = 0;                ///< sum of t^3 - t over groups of t equal values
};

Ranks rank(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  Ranks ranks{std::vector<std::int64_t>(values.size())};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i)
      ranks.doubled[order[i]] = static_cast<std::int64_t>(first + 1 + end);
    const auto ties = static_cast<double>(end - first);
    ranks.tie_term += ties * ties * ties - ties;
    first = end;
  }
  return ranks;
}

/// Sum over all subsets of `weights`: how many have each sum.
std::vector<double> subset_counts(const std::vector<std::int64_t>& weights) {
  std::vector<double> counts = {1};
  for (const std::int64_t weight : weights) {
    const std::size_t before = counts.size();
    counts.resize(before + static_cast<std::size_t>(weight), 0);
    for (std::size_t sum = before; sum-- > 0;) counts[sum + static_cast<std::size_t>(weight)] += counts[sum];
  }
  return counts;
}

double share_from(const std::vector<double>& counts, std::int64_t least) {
  const auto from = counts.begin() + std::min<std::ptrdiff_t>(least, std::ssize(counts));
  return std::accumulate(from, counts.end(), 0.0) / std::accumulate(counts.begin(), counts.end(), 0.0);
}

/// How many arrangements of n values among m others have each U: the coefficients of the Gaussian binomial,
/// built by multiplying with (1 - q^(m+i)) and dividing by (1 - q^i).
std::vector<double> arrangement_counts(std::size_t n, std::size_t m) {
  std::vector<double> counts(n * m + 1, 0);
  counts[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = counts.size(); u-- > m + i;) counts[u] -= counts[u - m - i];
    for (std::size_t u = i; u < counts.size(); ++u) counts[u] += counts[u - i];
  }
  return counts;
}

double upper_tail_of_normal(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

}  // namespace

double mann_whitney_p(std::span<const double> larger, std::span<const double> smaller) {
  if (larger.empty() || smaller.empty()) return 1;
  std::vector<double> both(larger.begin(), larger.end());
  both.insert(both.end(), smaller.begin(), smaller.end());
  const Ranks ranks = rank(both);
  const auto n = static_cast<double>(larger.size());
  const auto m = static_cast<double>(smaller.size());
  const std::int64_t doubled_sum =
      std::accumulate(ranks.doubled.begin(), ranks.doubled.begin() + std::ssize(larger), std::int64_t{0});
  const double u = static_cast<double>(doubled_sum) / 2 - n * (n + 1) / 2;
  if (ranks.tie_term == 0 && std::max(larger.size(), smaller.size()) <= kMostForExact) {
    return share_from(arrangement_counts(larger.size(), smaller.size()), std::llround(u));
  }
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ranks.tie_term / (all * (all - 1)));
  if (variance <= 0) return 1;
  return upper_tail_of_normal((u - n * m / 2 - 0.5) / std::sqrt(variance));
}

double signed_rank_p(std::span<const double> differences) {
  std::vector<double> magnitudes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    if (difference == 0) continue;
    magnitudes.push_back(std::abs(difference));
    positive.push_back(difference > 0);
  }
  const Ranks ranks = rank(magnitudes);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < positive.size(); ++i) sum += positive[i] ? ranks.doubled[i] : 0;
  return share_from(subset_counts(ranks.doubled), sum);
}

}  // namespace occbench
