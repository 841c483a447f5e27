#pragma once

#include "gate/judge.hpp"

namespace occbench {

/// What became of what is known before the launch.
enum class LaunchChange {
  none,
  better,  ///< less is needed or more fits, and nothing else differs: measurements are compared still
  other,   ///< another launch, and what was measured of it is no finding of its own
};

/// False, with the reason, if runs of one side differ in what is known before the launch.
bool is_one_launch(const Sides& sides, const GateContext& context, ComparedCase& into);

/// Adds a finding for each column that is known before the launch and differs, as grave as its gate rule
/// says.
LaunchChange compare_launches(const Sides& sides, const GateContext& context, ComparedCase& into);

/// Rows of what was calculated and never launched: all there is to compare is known before the launch.
bool was_never_launched(const Sides& sides);

}  // namespace occbench
