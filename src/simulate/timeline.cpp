#include "simulate/timeline.hpp"

#include <algorithm>

namespace occbench {

void TimelineBuilder::change(double when, double warps) {
  while (when >= step_ * kSteps) {
    for (std::size_t i = 0; i < kSteps / 2; ++i) {
      const double first = change_[2 * i];
      const double second = change_[2 * i + 1];
      weighted_[i] = (weighted_[2 * i] + weighted_[2 * i + 1] + second) / 2;
      change_[i] = first + second;
    }
    std::fill(change_.begin() + kSteps / 2, change_.end(), 0);
    std::fill(weighted_.begin() + kSteps / 2, weighted_.end(), 0);
    step_ *= 2;
  }
  const double place = when / step_;
  const auto index = static_cast<std::size_t>(place);
  change_[index] += warps;
  weighted_[index] += warps * (place - static_cast<double>(index));
}

void TimelineBuilder::add(double start, double end, double warps) {
  change(start, warps);
  change(end, -warps);
  end_ = std::max(end_, end);
}

Timeline TimelineBuilder::finish() const {
  Timeline timeline{step_, {}};
  double level = 0;
  for (std::size_t i = 0; i < kSteps && static_cast<double>(i) * step_ < end_; ++i) {
    level += change_[i];
    timeline.warps.push_back(std::max(0.0, level - weighted_[i]));
  }
  return timeline;
}

}  // namespace occbench
