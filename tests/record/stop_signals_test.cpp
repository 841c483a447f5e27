#include "record/stop_signals.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace occbench {
namespace {

volatile std::sig_atomic_t others = 0;

TEST(StopOnSignals, AsksToStopWhileItLivesAndThenLeavesSignalsAsTheyWere) {
  static_cast<void>(std::signal(SIGINT, [](int) { others = others + 1; }));
  {
    const StopOnSignals stop;
    EXPECT_FALSE(stop_asked());
    std::raise(SIGINT);
    EXPECT_TRUE(stop_asked());
  }
  std::raise(SIGINT);
  EXPECT_EQ(others, 1);
  const StopOnSignals again;
  EXPECT_FALSE(stop_asked()) << "a new run begins";
}

}  // namespace
}  // namespace occbench
