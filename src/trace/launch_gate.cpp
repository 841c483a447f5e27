#include "trace/launch_gate.hpp"

namespace occbench {

void LaunchGate::enter() {
  while (true) {
    inside_.fetch_add(1);
    // The order of this and close() (both sequentially consistent): one of the two sees the other.
    if (!closed_.load()) return;
    inside_.fetch_sub(1);
    const bool opened = wait_for(longest_hold_, [&] { return !closed_.load(); });
    if (!opened) {
      inside_.fetch_add(1);
      return;
    }
  }
}

LaunchGate::Closed LaunchGate::close(Patience patience) {
  const bool was_open = wait_for(patience, [&] { return !closed_.exchange(true); });
  if (!was_open) return {};
  Closed closed(*this);
  return wait_for(patience, [&] { return inside_.load() == 0; }) ? std::move(closed) : Closed();
}

void LaunchGate::wait_until_open() const {
  static_cast<void>(wait_for(longest_hold_, [&] { return !closed_.load(); }));
}

}  // namespace occbench
