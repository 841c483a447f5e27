#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace occbench {

/// Two builds to be run in turn on one machine.
struct PairPlan {
  std::filesystem::path build_a;  ///< the baseline's build folder: has bin/occbench
  std::filesystem::path build_b;
  std::filesystem::path folder;  ///< the runs are kept here: 01-a.csv, 02-b.csv, 03-b.csv, ...
  int pairs = 6;
  std::vector<std::string> arguments;  ///< of `occbench run`, for both: --suite, --filter, ...
};

/// Files of rows that a pair of builds wrote, or why not.
struct PairedRuns {
  std::vector<std::filesystem::path> a;
  std::vector<std::filesystem::path> b;
  std::string failure;  ///< which run failed; empty if none did
};

/// Runs A B, B A, A B, ...: what drifts steadily meets both alike. Each run is `bin/occbench run ARGUMENTS
/// --require-gpu --out FILE`, with its messages in a log beside FILE. One that ends with 2 (some row was not
/// measured) counts; any other failure ends the comparison.
/// @throws InputError if a build has no bin/occbench or the folder cannot be written.
PairedRuns run_pairs(const PairPlan& plan, std::ostream& progress);

}  // namespace occbench
