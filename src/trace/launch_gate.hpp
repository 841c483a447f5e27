#pragma once

#include <atomic>
#include <utility>

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

  /// The gate is closed as long as this lives, unless it is empty.
  class Closed {
   public:
    Closed() = default;
    explicit Closed(LaunchGate& gate) : gate_(&gate) {}
    ~Closed() {
      if (gate_ != nullptr) gate_->closed_.store(false);
    }
    Closed(Closed&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Closed& operator=(Closed&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    explicit operator bool() const {
      return gate_ != nullptr;
    }

   private:
    LaunchGate* gate_ = nullptr;
  };

  /// Holds launches that come and waits for those that are inside to leave, when no other thread holds
  /// launches any more. @returns empty, and holds none, if that was not so in time
  [[nodiscard]] Closed close(Patience patience);

  /// Waits while it is closed, at most for the longest hold.
  void wait_until_open() const;

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> closed_{false};
  Patience longest_hold_;
};

}  // namespace occbench
