#pragma once

#include <filesystem>
#include <span>

#include "gate/comparison.hpp"
#include "gate/run.hpp"
#include "gate/tolerances.hpp"

namespace occbench {

/// One run against another.
Comparison compare(const RecordedRun& baseline, const RecordedRun& candidate, const Tolerances& tolerances);

/// Runs of two builds that alternated on one machine: baseline[i] ran next to candidate[i], so that they share what drifts.
/// Measured columns and times are medians over the runs. @pre as many of each, at least one
Comparison compare_pairs(std::span<const RecordedRun> baseline, std::span<const RecordedRun> candidate,
                         const Tolerances& tolerances);

/// Two files, two folders file by file, or a file and the folder's file of its name.
/// No baseline is a verdict of its own: no verdict. @throws InputError
Comparison compare_paths(const std::filesystem::path& baseline, const std::filesystem::path& candidate,
                         const Tolerances& tolerances);

}  // namespace occbench
