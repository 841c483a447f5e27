#include "fleet/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "record/statistics.hpp"

namespace occbench {
namespace {

/// Standard deviation over median absolute deviation, of a normal distribution.
constexpr double kSigmaOfMad = 1.4826;
constexpr double kEfficiencyOfMad = 0.37;

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 / std::max(kTiny, 1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < 1000; ++m) {
    const auto step = [&](double term) {
      const double next_d = 1 + term * d;
      const double next_c = 1 + term / c;
      d = 1 / (std::abs(next_d) < kTiny ? kTiny : next_d);
      c = std::abs(next_c) < kTiny ? kTiny : next_c;
      value *= c * d;
    };
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return value;
}

/// Regularized, for the half that the fraction is quick in; the other half by symmetry (DLMF 8.17.4).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const double log_factor =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  return std::exp(log_factor) * beta_fraction(a, b, x) / a;
}

}  // namespace

double student_two_sided(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

Spread spread_of(std::span<const double> values, NaturalSpread natural) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  const double own = kSigmaOfMad * median(distances);
  const double own_degrees = kEfficiencyOfMad * static_cast<double>(values.size() - 1);
  const double degrees = own_degrees + natural.degrees;
  const double variance =
      (own_degrees * own * own + natural.degrees * natural.sigma * natural.sigma) / degrees;
  return {middle, std::max(std::sqrt(variance), natural.sigma), degrees};
}

double chance_of(double value, const Spread& spread, std::size_t values) {
  // The median of n values has a variance of about pi / 2n.
  const double widened = std::sqrt(1 + std::numbers::pi / (2 * static_cast<double>(values)));
  return student_two_sided((value - spread.median) / (spread.sigma * widened), spread.degrees) / 2;
}

}  // namespace occbench
