#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "gate/compare.hpp"
#include "gate/tolerances.hpp"

namespace occbench {

/// Two builds to be run in turn on one machine.
struct PairPlan {
  std::filesystem::path build_a;  ///< the baseline's build folder: has bin/occbench
  std::filesystem::path build_b;
  std::filesystem::path folder;        ///< the runs are kept here: 01-a.csv, 02-b.csv, 03-b.csv, ...
  int pairs = 6;                       ///< 5 to 50; fewer cannot decide on time
  std::vector<std::string> arguments;  ///< of `occbench run`, for both: --suite, --filter, ...
};

/// Runs A B, B A, A B, ...: what drifts steadily meets both alike. Each run is `bin/occbench run ARGUMENTS
/// --require-gpu --out FILE`, with its messages in a log beside FILE. One that ends with 2 (some row was not
/// measured) counts; any other failure ends the comparison without a verdict, and a finding says of which.
/// @throws InputError if a build has no bin/occbench or the folder cannot be written.
Comparison run_pairs(const PairPlan& plan, const Tolerances& tolerances, std::ostream& progress);

}  // namespace occbench
