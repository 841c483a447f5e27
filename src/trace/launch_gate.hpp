#pragma once

#include <atomic>

#include "trace/wait_for.hpp"

namespace occbench {

/// Lets the launches of a context through, any number at once, or holds them while one of them is counted: a
/// kernel of another thread beside it would be counted with it. Nothing waits for ever.
class LaunchGate {
 public:
  /// @param longest_hold a launch that was held for so long goes through
  explicit LaunchGate(Patience longest_hold) : longest_hold_(longest_hold) {}

  /// Around a launch that is not counted.
  void enter();
  void leave() {
    inside_.fetch_sub(1);
  }

  /// Holds launches that come and waits for those that are inside to leave, when no other thread holds
  /// launches any more. @returns false, and holds none, if that was not so in time
  bool close(Patience patience);
  void open() {
    closed_.store(false);
  }

  /// Waits while it is closed, at most for the longest hold.
  void wait_until_open() const;

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> closed_{false};
  Patience longest_hold_;
};

}  // namespace occbench
