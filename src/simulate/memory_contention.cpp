#include "simulate/memory_contention.hpp"

#include <algorithm>

namespace occbench {

double memory_spread(double bytes_per_cycle_asked, double bytes_per_cycle, double most) {
  if (bytes_per_cycle_asked == 0) return 0;
  return most * std::min(1.0, bytes_per_cycle_asked / (2 * bytes_per_cycle));
}

void MemoryContention::add_speed(double speed) {
  speed_ += speed;
  const double asked = bytes_of_warp_ * speed_;
  if (asked <= 0) {
    rate_ = 1;
    return;
  }
  rate_ = std::min(1.0, bytes_per_cycle_ / asked);
}

double MemoryContention::time_at(double clock) const {
  return time_ + std::max(0.0, clock - clock_) / rate_;
}

void MemoryContention::pass_to(double time) {
  clock_ += (time - time_) * rate_;
  time_ = time;
}

void MemoryContention::pass_to(double time, double clock) {
  time_ = time;
  clock_ = std::max(clock_, clock);
}

}  // namespace occbench
