#pragma once

#include <chrono>
#include <mutex>
#include <optional>

namespace occbench {

/// How much of a program's time counting may take once each configuration has been counted: a fiftieth, from the
/// first launch that was counted on. Thread-safe.
class CountingBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kShare = 50;

  /// Counting held the program from `begin` to `end`.
  void spend(Clock::time_point begin, Clock::time_point end) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = begin;
    spent_ += end - begin;
  }

  /// False before anything was spent.
  bool allows(Clock::time_point now) const {
    const std::lock_guard lock(mutex_);
    return first_ && now - *first_ >= kShare * spent_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Clock::time_point> first_;
  Clock::duration spent_{};
};

}  // namespace occbench
