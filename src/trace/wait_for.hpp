#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace occbench {

using Patience = std::chrono::milliseconds;

/// Asks `done` until it says yes or the patience is at its end: without a break for 50 us, then in breaks
/// that grow with the wait to at most a millisecond. @returns whether it said yes
template <typename Done>
bool wait_for(Patience patience, Done done) {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited >= patience) return false;
    if (waited > 50us) std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(waited / 8, 1ms));
  }
  return true;
}

}  // namespace occbench
