#pragma once

#include <vector>

namespace occbench {

/// Resident warps over the time of a launch, as means over equal steps.
struct Timeline {
  double step_cycles = 0;
  std::vector<double> warps;  ///< of the whole device; step i covers [i, i + 1) x step_cycles
};

/// Adds up intervals in any order in constant memory: where time outgrows the steps, they double in length.
class TimelineBuilder {
 public:
  /// `warps` warps were resident from `start` to `end`, cycles from 0.
  void add(double start, double end, double warps);

  /// Steps up to the last end that was added.
  Timeline finish() const;

 private:
  /// From `when` on there are `warps` more (or fewer).
  void change(double when, double warps);

  static constexpr int kSteps = 512;
  double step_ = 64;
  double end_ = 0;
  std::vector<double> change_ = std::vector<double>(kSteps);    ///< sum of the changes within a step
  std::vector<double> weighted_ = std::vector<double>(kSteps);  ///< each times its place in the step, 0 to 1
};

}  // namespace occbench
