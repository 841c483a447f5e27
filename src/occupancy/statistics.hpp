#pragma once

#include <span>

namespace occbench {

/// The three values that divide readings into quarters.
struct Quartiles {
  double lower = 0;
  double median = 0;
  double upper = 0;

  double range() const {
    return upper - lower;
  }
};

/// The value below which a share `quantile` (0 to 1) of `ascending` lies, by linear interpolation between the
/// two readings nearest to position quantile x (n - 1): Hyndman and Fan's definition 7 (The American
/// Statistician 50:361, 1996), the one of NumPy, R and Excel's QUARTILE.INC.
/// @pre `ascending` is sorted and not empty.
double quantile_of_sorted(std::span<const double> ascending, double quantile);

/// @pre `readings` is not empty; in any order.
Quartiles quartiles(std::span<const double> readings);

/// The middle reading, or the mean of the two in the middle. @pre `readings` is not empty; in any order.
double median(std::span<const double> readings);

}  // namespace occbench
