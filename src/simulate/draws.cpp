#include "simulate/draws.hpp"

#include <array>
#include <cmath>

namespace occbench {
namespace {

// ln 2 in two parts: the first has 32 significant bits, so that small multiples of it are exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

constexpr auto kReciprocals = [] {
  std::array<double, 24> reciprocals{};
  for (std::size_t n = 1; n < reciprocals.size(); ++n) reciprocals[n] = 1.0 / static_cast<double>(n);
  return reciprocals;
}();

/// The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa < 0x1.6a09e667f3bcdp-1) {       // below sqrt(1/2): keep |s| small
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), |s| <= 0.1716
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (std::size_t n = 23; n >= 3; n -= 2) sum = (sum + kReciprocals[n]) * square;
  return exponent * kLn2High + (exponent * kLn2Low + (2 * s + 2 * s * sum));
}

double portable_exp(double x) {
  const double power = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double rest = (x - power * kLn2High) - power * kLn2Low;  // |rest| <= 0.347
  double sum = 1;
  for (std::size_t n = 14; n >= 1; --n) sum = 1 + sum * (rest * kReciprocals[n]);
  return std::ldexp(sum, static_cast<int>(power));
}

std::uint64_t random_bits(std::uint64_t stream, std::uint64_t draw) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  return mix(mix(stream + golden) + (draw + 1) * golden);
}

double unit_interval(std::uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

double random_normal(std::uint64_t stream, std::uint64_t draw) {
  // Marsaglia's polar method; each attempt has its own stream. Chance of more than 100 attempts: 10^-67.
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t bits = random_bits(stream + attempt * 0xd1342543de82ef95u, draw);
    const double u = 2 * unit_interval(bits << 32) - 1;
    const double v = 2 * unit_interval((bits >> 32) << 32) - 1;
    const double radius = u * u + v * v;
    if (radius < 1 && radius > 0) return u * std::sqrt(-2 * portable_log(radius) / radius);
  }
}

}  // namespace occbench
