#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace occbench {

/// Chance that Student's t is further from 0 than `t`, on either side; `degrees` > 0, also between whole
/// numbers.
double student_two_sided(double t, double degrees);

/// How far values of one kind are apart between healthy GPUs of a model, as recorded runs show it.
struct NaturalSpread {
  double sigma;    ///< standard deviation
  double degrees;  ///< as many degrees of freedom as that figure is worth
};

/// Where values lie and how far they are apart, whatever few outliers among them do.
struct Spread {
  double median = 0;
  double sigma = 0;    ///< median absolute deviation as a standard deviation, moderated by the natural spread
  double degrees = 0;  ///< of that sigma
};

/// The variance is the mean of the values' own and the natural one, weighted by their degrees of freedom: the
/// moderated variance of Smyth, Stat. Appl. Genet. Mol. Biol. 3(1):3 (2004), with the robust estimate for the
/// values' own. A median absolute deviation of n values of a normal distribution is worth 0.37 (n - 1) degrees
/// of freedom (its efficiency, Rousseeuw and Croux, JASA 88:1273, 1993). Never less than the natural spread: a
/// fleet that is closer together does not make smaller differences matter. @pre `values` is not empty
Spread spread_of(std::span<const double> values, NaturalSpread natural);

/// Chance that a healthy GPU's value is as far from the median as `value`, on the same side. @param values  how
/// many the spread is of
double chance_of(double value, const Spread& spread, std::size_t values);

}  // namespace occbench
