#include "trace/launch_gate.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

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
    if (!gate.close(5s)) continue;
    ++closed;
    for (int look = 0; look < 50; ++look) together += inside;
    gate.open();
  }
  done = true;
  launching.clear();
  EXPECT_EQ(together, 0);
  EXPECT_EQ(closed, 200);
}

TEST(LaunchGate, ClosesForOneAtATime) {
  LaunchGate gate(10s);
  ASSERT_TRUE(gate.close(1s));
  EXPECT_FALSE(gate.close(20ms));
  std::jthread opens([&] {
    std::this_thread::sleep_for(20ms);
    gate.open();
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

TEST(LaunchGate, HoldsNoLaunchForEver) {
  LaunchGate gate(50ms);
  ASSERT_TRUE(gate.close(1s));
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
