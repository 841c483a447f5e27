#pragma once

#include <string>
#include <vector>

#include "diagnose/finding.hpp"
#include "diagnose/situation.hpp"

namespace occbench {

/// The causes of a launch's lost occupancy, the largest loss first. Points add up to 100 - achieved_pct, to less than
/// kLeastPoints, unless that is above theory. Without a counter's value they add up to 100 - predicted_pct, and without
/// a prediction to the cost of the grid alone. If resident blocks are known, no cause of blocks or warps claims more
/// than its measured part. Spills and a counter of another launch, which then has all losses, come first, remarks last.
/// @returns nothing if the launch, its usage, theory or the limits of its GPU are not known
/// @throws InputError as theoretical_occupancy()
std::vector<Finding> diagnose(const LaunchFacts& facts);

/// Small losses that add up to less than this are not findings.
inline constexpr double kLeastPoints = 0.5;

/// The first finding's sentence, and that another build of the kernel is faster. Without a finding it says that nothing
/// to speak of is lost. Empty if nothing is known: see diagnose().
std::string explanation_of(const LaunchFacts& facts);
std::string explanation_of(const LaunchFacts& facts, const std::vector<Finding>& findings);

}  // namespace occbench
