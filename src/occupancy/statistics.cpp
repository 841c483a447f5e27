#include "occupancy/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace occbench {

double quantile_of_sorted(std::span<const double> ascending, double quantile) {
  const double position = quantile * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return std::lerp(ascending[below], ascending[above], position - static_cast<double>(below));
}

Quartiles quartiles(std::span<const double> readings) {
  std::vector<double> ascending(readings.begin(), readings.end());
  std::ranges::sort(ascending);
  return {quantile_of_sorted(ascending, 0.25), quantile_of_sorted(ascending, 0.5),
          quantile_of_sorted(ascending, 0.75)};
}

double median(std::span<const double> readings) {
  return quartiles(readings).median;
}

}  // namespace occbench
