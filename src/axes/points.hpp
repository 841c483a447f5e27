#pragma once

#include <span>
#include <string>
#include <vector>

#include "axes/axis.hpp"
#include "axes/point.hpp"

namespace occbench {

/// What a user asked of one axis.
struct GivenAxis {
  std::string name;    ///< of one of the kernel's axes
  std::string values;  ///< in the grammar of expand_values()
};

/// How the values of several axes are combined.
enum class Combine {
  product,  ///< each value of one with each value of the others; the last given axis varies fastest
  zip,      ///< first with first, second with second; an axis of one value serves all
};

/// The configurations of a sweep. An axis that the user leaves out has the values that it is declared with.
/// @throws InputError for an axis that the kernel lacks (naming the nearest) or is given twice, for values as
/// expand_values(), for axes of unequal lengths that are zipped, and for more than a million configurations
std::vector<Point> points_of(std::span<const SweepAxis> declared, std::span<const GivenAxis> given,
                             Combine combine);

}  // namespace occbench
