#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trace/context_counter.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(LaunchGate, LetsNobodyBesideTheOneThatClosedIt) {
  LaunchGate gate(10s);
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  std::atomic<bool> done{false};
  std::vector<std::jthread> launching;
  for (int thread = 0; thread < 8; ++thread) {
    launching.emplace_back([&] {
      while (!done) {
        gate.enter();
        ++inside;
        std::this_thread::yield();
        --inside;
        gate.leave();
      }
    });
  }
  int closed = 0;
  for (int i = 0; i < 200; ++i) {
    const LaunchGate::Closed holds = gate.close(5s);
    if (!holds) continue;
    ++closed;
    for (int look = 0; look < 50; ++look) together += inside;
  }
  done = true;
  launching.clear();
  EXPECT_EQ(together, 0);
  EXPECT_EQ(closed, 200);
}

TEST(LaunchGate, ClosesForOneAtATime) {
  LaunchGate gate(10s);
  std::optional<LaunchGate::Closed> holds = gate.close(1s);
  ASSERT_TRUE(*holds);
  EXPECT_FALSE(gate.close(20ms));
  std::jthread opens([&] {
    std::this_thread::sleep_for(20ms);
    holds.reset();
  });
  EXPECT_TRUE(gate.close(5s));
}

TEST(LaunchGate, StaysOpenWhereALaunchInsideDoesNotReturn) {
  LaunchGate gate(10s);
  gate.enter();
  EXPECT_FALSE(gate.close(20ms));
  const auto start = Clock::now();
  gate.enter();
  EXPECT_LT(Clock::now() - start, 1s);
}

TEST(LaunchGate, OpensAgainWhateverFailsWhileItIsClosed) {
  LaunchGate gate(10s);
  try {
    const LaunchGate::Closed holds = gate.close(1s);
    throw std::runtime_error("CUPTI failed");
  } catch (const std::runtime_error&) {
  }
  LaunchGate::Closed first = gate.close(0ms);
  EXPECT_TRUE(first);
  LaunchGate::Closed holds = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_FALSE(gate.close(0ms)) << "whoever it was given to holds it";
}

TEST(LaunchGate, HoldsNoLaunchForEver) {
  LaunchGate gate(50ms);
  const LaunchGate::Closed holds = gate.close(1s);
  ASSERT_TRUE(holds);
  const auto start = Clock::now();
  gate.enter();
  gate.wait_until_open();
  EXPECT_GE(Clock::now() - start, 90ms);
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST(WaitFor, AsksAtLeastOnceAndStopsAtTheEndOfItsPatience) {
  int asked = 0;
  EXPECT_TRUE(wait_for(0ms, [&] { return ++asked > 0; }));
  EXPECT_FALSE(wait_for(30ms, [&] {
    ++asked;
    return false;
  }));
  EXPECT_GT(asked, 10);
}

}  // namespace
}  // namespace occbench
